import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import { fixedWindow, leakyBucket, slidingWindowLog, tokenBucket } from "../../../limits/limits.js";
import { resilient } from "../../../stores/resilient/resilient.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { RulesError } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyOptions } from "../policy-options.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "42" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function stand(rules: object[], options: Partial<PolicyOptions> = {}) {
  const store = new RemoteStore();
  const clock = new ManualClock(0);
  const policy = createPolicy({
    rules: { version: 1, rules },
    store,
    clock,
    ...options,
  });
  return { store, clock, policy };
}

async function remaining(policy: Policy): Promise<number[]> {
  return (await policy.peek(facts)).results.map(({ verdict }) => verdict.remaining);
}

const CONSISTENCIES = ["local", "eventual", "leased", "strict"] as const;

describe("rules of several consistencies over one remote store", () => {
  it("are charged all or none, whichever of them refuses", async () => {
    for (const tight of CONSISTENCIES) {
      const { policy } = stand(
        CONSISTENCIES.map((consistency) => ({
          id: consistency,
          consistency,
          limit: perMinute(consistency === tight ? 3 : 10),
        })),
      );
      const answers = [];
      for (let i = 0; i < 6; i++) answers.push(await policy.admit(facts));
      expect(answers.map(({ allowed }) => allowed)).toEqual([
        true,
        true,
        true,
        false,
        false,
        false,
      ]);
      expect(answers[5].rule).toBe(tight);
      const expected = CONSISTENCIES.map((consistency) => (consistency === tight ? 0 : 7));
      expect(await remaining(policy)).toEqual(expected);
      await policy.close();
    }
  });

  it("are asked from the cheapest on, so that what is refused in process troubles no server", async () => {
    const { policy, store } = stand([
      { id: "far", consistency: "strict", limit: perMinute(10), priority: 9 },
      { id: "near", consistency: "local", limit: perMinute(1) },
    ]);
    await policy.admit(facts);
    const { decide } = store.calls;
    for (let i = 0; i < 5; i++) expect(policy.admit(facts)).toMatchObject({ allowed: false });
    expect(store.calls.decide).toBe(decide);
  });

  it("have their lanes also over a store that its user has put a guard in front of", async () => {
    const remote = new RemoteStore();
    const { policy } = stand(
      [
        { id: "near", consistency: "local", limit: perMinute(1) },
        { id: "far", consistency: "strict", limit: perMinute(9) },
      ],
      { store: resilient(remote) },
    );
    await policy.admit(facts);
    const { decide } = remote.calls;
    expect(policy.admit(facts)).toMatchObject({ allowed: false, rule: "near" });
    expect(remote.calls.decide).toBe(decide);
    await policy.close();
    expect(remote.calls.close).toBe(0);
  });

  it("are listed in the order of the rules, not of the lanes", async () => {
    const { policy } = stand([
      { id: "far", consistency: "strict", limit: perMinute(10) },
      { id: "near", consistency: "local", limit: perMinute(5) },
    ]);
    const { results } = await policy.admit(facts);
    expect(results.map(({ rule }) => rule)).toEqual(["far", "near"]);
  });

  it("return what they leased as soon as they are idle, whether requests passed or not", async () => {
    const { policy, store, clock } = stand([
      { id: "near", consistency: "leased", limit: perMinute(1_000) },
      { id: "far", consistency: "strict", limit: perMinute(30) },
    ]);
    for (let i = 0; i < 40; i++) await policy.admit(facts);
    clock.advance(1_000);
    await new Promise(setImmediate);
    const other = stand([{ id: "near", consistency: "strict", limit: perMinute(1_000) }], {
      store,
      clock,
    });
    expect(await remaining(other.policy)).toEqual([970]);
  });

  it("decide in process once a key is warm, where none is strict", async () => {
    const { policy, store } = stand([
      {
        id: "a",
        consistency: "leased",
        limit: tokenBucket({ capacity: 1_000, refillPerSecond: 1 }),
      },
      { id: "b", consistency: "eventual", limit: perMinute(1_000) },
    ]);
    for (let i = 0; i < 40; i++) await policy.admit(facts);
    const { decide } = store.calls;
    for (let i = 0; i < 20; i++) expect(policy.admit(facts)).toMatchObject({ allowed: true });
    expect(store.calls.decide - decide).toBeLessThanOrEqual(2);
    await policy.close();
    expect(store.calls.close).toBe(0);
  });

  it("return leases at close", async () => {
    const limit = perMinute(1_000);
    const { policy, store, clock } = stand([{ id: "a", consistency: "leased", limit }]);
    for (let i = 0; i < 50; i++) await policy.admit(facts);
    await policy.close();
    const after = createPolicy({ rules: policy.rules, store, clock });
    expect(await remaining(after)).toEqual([950]);
  });

  it("cut a shared limit into shards by caller, and refund what another rule refuses", async () => {
    const { policy } = stand([
      { id: "shield", key: "global", shards: 4, limit: perMinute(400) },
      { id: "user", key: "user", limit: perMinute(3), shards: 1 },
    ]);
    for (let i = 0; i < 10; i++) await policy.admit(facts);
    const { results } = await policy.peek(facts);
    expect(results[0].verdict).toMatchObject({ limit: 100, remaining: 97 });
    const late = stand([
      { id: "shield", key: "global", shards: 4, limit: perMinute(400) },
      { id: "user", key: "user", limit: perMinute(3) },
    ]).policy;
    const early = { ...facts, user: undefined };
    for (let i = 0; i < 10; i++) await late.admit(early, { identify: () => facts });
    expect((await late.peek(early)).results[0].verdict.remaining).toBe(97);
  });

  it("look at the shard that was charged, also where the user is known only by then", async () => {
    const rules = [
      { id: "g", key: "global", shards: 8, limit: perMinute(80) },
      { id: "u", key: "user", limit: perMinute(1_000) },
    ];
    const { policy } = stand(rules);
    const early = { ...facts, user: undefined };
    const bob = { ...facts, user: "bob" };
    for (let i = 0; i < 12; i++) await policy.admit(early, { identify: () => bob });
    expect(await policy.peek(bob)).toMatchObject({ allowed: false, rule: "g" });
  });

  it("send a caller to the same shard also where nothing else matches", async () => {
    const { policy } = stand([{ id: "shield", key: "global", shards: 4, limit: perMinute(400) }]);
    for (let i = 0; i < 8; i++) await policy.admit(facts);
    expect(await remaining(policy)).toEqual([92]);
  });

  it("refund a log out of the lease that it was charged to", async () => {
    const { policy } = stand([
      {
        id: "log",
        consistency: "leased",
        limit: slidingWindowLog({ limit: 50, windowMs: 60_000 }),
      },
      { id: "two", consistency: "strict", limit: perMinute(2) },
    ]);
    for (let i = 0; i < 30; i++) await policy.admit(facts);
    expect(await remaining(policy)).toEqual([48, 0]);
    await policy.close();
  });
});

describe("a store that fails", () => {
  it("is answered for by each rule's own policy", async () => {
    const { policy, store } = stand([
      { id: "open", match: { path: "/open" }, limit: perMinute(1), onStoreFailure: "open" },
      { id: "closed", match: { path: "/closed" }, limit: perMinute(1), onStoreFailure: "closed" },
      { id: "throw", match: { path: "/throw" }, limit: perMinute(1), onStoreFailure: "throw" },
    ]);
    store.failing.add("decide");
    const decide = (path: string) => policy.admit({ ...facts, path });
    expect(await decide("/open")).toMatchObject({ allowed: true, source: "fallback" });
    expect(await decide("/closed")).toMatchObject({ allowed: false, reason: "store" });
    await expect(decide("/throw")).rejects.toThrow();
  });

  it("with throw refunds what was charged before", async () => {
    const { policy, store } = stand([
      { id: "near", consistency: "local", limit: perMinute(5) },
      { id: "far", limit: perMinute(5), onStoreFailure: "throw" },
    ]);
    store.failing.add("decide");
    await expect(policy.admit(facts)).rejects.toThrow();
    store.failing.clear();
    expect((await remaining(policy))[0]).toBe(5);
  });

  it("while refunding does not turn a refusal into an error", async () => {
    const { policy, store } = stand(
      [
        { id: "ip", limit: perMinute(5) },
        { id: "user", key: "user", limit: perMinute(1), onStoreFailure: "throw" },
      ],
      { onStoreFailure: "throw" },
    );
    const early = { ...facts, user: undefined };
    await policy.admit(early, { identify: () => facts });
    store.failing.add("settle");
    const refused = await policy.admit(early, { identify: () => facts });
    expect(refused).toMatchObject({ allowed: false, rule: "user" });
  });
});

describe("refusals that are known in process", () => {
  it.each(["leased", "strict"] as const)(
    "of a %s rule ask the shared store once a second, however many requests come",
    async (consistency) => {
      const { policy, store, clock } = stand([{ id: "one", consistency, limit: perMinute(20) }]);
      for (let i = 0; i < 40; i++) await policy.admit(facts);
      for (let second = 0; second < 3; second++) {
        const { decide } = store.calls;
        for (let i = 0; i < 500; i++) {
          expect(await policy.admit(facts)).toMatchObject({ allowed: false });
          clock.advance(2);
        }
        expect(store.calls.decide - decide).toBeLessThanOrEqual(2);
      }
      expect(policy.stats.denyCache).toMatchObject({ keys: 1 });
      expect(policy.stats.denyCache?.hits).toBeGreaterThan(1_400);
      await policy.close();
    },
  );

  it("of a leased rule end immediately with a refund, a reset and an unblock in this process", async () => {
    const { policy } = stand([{ id: "one", consistency: "leased", limit: perMinute(20) }]);
    const exhaust = async () => {
      for (let i = 0; i < 40; i++) await policy.admit(facts);
      expect(policy.admit(facts)).toMatchObject({ allowed: false, source: "deny-cache" });
    };
    const key = "ip:203.0.113.10";
    await exhaust();
    await policy.refund("one", key, 1);
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    await exhaust();
    await policy.reset("one", key);
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    await policy.block("one", key, 60_000);
    expect(await policy.admit(facts)).toMatchObject({ allowed: false });
    await policy.unblock("one", key);
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    await policy.close();
  });

  it("of a leased rule end within a second of a refund, reset or unblock by another process", async () => {
    const { policy, store, clock } = stand([
      { id: "one", consistency: "leased", limit: fixedWindow({ limit: 20, windowMs: 3_600_000 }) },
    ]);
    const other = createPolicy({ rules: policy.rules, store, clock });
    const key = "ip:203.0.113.10";
    const givings = [
      () => other.refund("one", key, 1),
      () => other.reset("one", key),
      async () => {
        await other.reset("one", key);
        await other.block("one", key, 60_000);
        clock.advance(1_000);
        expect(await policy.admit(facts)).toMatchObject({ allowed: false });
        await other.unblock("one", key);
      },
    ];
    for (const give of givings) {
      for (let i = 0; i < 40; i++) await policy.admit(facts);
      await give();
      clock.advance(1_000);
      expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    }
    await policy.close();
  });

  it("show nothing of the rules that were not asked", async () => {
    const { policy, store } = stand([
      { id: "ten", limit: perMinute(10) },
      { id: "one", limit: perMinute(1) },
    ]);
    await policy.admit(facts);
    await policy.admit(facts);
    const { decide } = store.calls;
    const refused = await policy.admit(facts);
    expect(store.calls.decide).toBe(decide);
    expect(refused).toMatchObject({ allowed: false, rule: "one", source: "deny-cache" });
    expect(refused.results.map(({ isKnown }) => isKnown)).toEqual([false, true]);
  });
});

describe("a request handler that sees no response", () => {
  const rules = (rule: object) => ({ version: 1, rules: [{ id: "r1", ...rule }] });
  const permits = { concurrency: { limit: 1, permitMs: 1_000 } };

  it("refuses rules that need one, at load and at replace, and names them", () => {
    for (const [rule, what] of [
      [{ limit: permits }, "a concurrency limit"],
      [{ limit: "5/minute", tiers: { pro: permits } }, "a concurrency limit"],
      [{ limit: "5/minute", when: { status: [401] } }, "when"],
      [{ limit: "5/minute", settle: "bytes" }, "settle"],
      [{ limit: "5/minute", settle: { json: "usage.total_tokens" } }, "settle"],
    ] as const) {
      const message = new RegExp(
        `rule "r1": ${what} needs to see responses, .* the section "decision"`,
      );
      const load = () => createPolicy({ rules: rules(rule), seesResponses: false });
      expect(load).toThrow(message);
      expect(load).toThrow(RulesError);
      const policy = createPolicy({ rules: rules({ limit: "5/minute" }), seesResponses: false });
      const { version } = policy;
      expect(() => policy.replace(rules(rule))).toThrow(message);
      expect(policy.version).toBe(version);
    }
  });

  it("refuses who would have to wait, until then, and charges nothing for it", () => {
    const delay = {
      limit: tokenBucket({ capacity: 2, refillPerSecond: 10 }),
      onExceed: "delay",
      delayMsMax: 500,
    };
    const shaped = { limit: leakyBucket({ ratePerSecond: 10, queueSize: 5 }) };
    for (const [rule, passing] of [
      [delay, 2],
      [shaped, 1],
    ] as const) {
      const clock = new ManualClock(0);
      const policy = createPolicy({ rules: rules(rule), seesResponses: false, clock });
      const allowed = [1, 2, 3, 4, 5]
        .map(() => policy.admit(facts))
        .filter((d) => "allowed" in d && d.allowed);
      expect(allowed).toHaveLength(passing);
      expect(policy.peek(facts)).toMatchObject({ allowed: false, delayMs: 0 });
      expect(policy.admit(facts)).toMatchObject({ allowed: false, retryAfterMs: 100, delayMs: 0 });
      clock.advance(99);
      expect(policy.admit(facts)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      clock.advance(1);
      expect(policy.admit(facts)).toMatchObject({ allowed: true, delayMs: 0 });
    }
  });
});

describe("the sample file", () => {
  it("runs over a remote store: every request to it is decided, finished and refunded", async () => {
    const sample = join(import.meta.dirname, "../../../../../../examples/rules/sluice.yaml");
    const store = new RemoteStore();
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const policy = createPolicy({ rules: readFileSync(sample, "utf8"), store, clock });
    const known = { ...facts, tenant: "acme", tier: "pro", body: { username: "ann" } };
    const host = "api.example.com";
    for (const path of ["/", "/login", "/api/chat/x", "/api/exports/1", "/api/search"]) {
      for (const method of ["GET", "POST"]) {
        for (let i = 0; i < 4; i++) {
          const request = { ...known, path, method, host };
          const early = { ...request, user: undefined, tenant: undefined, tier: undefined };
          const decision = await policy.admit(early, { identify: async () => request });
          await decision.finish({ status: 401, header: () => "300" });
          expect(await policy.explain(request)).toMatchObject({ version: policy.version });
        }
      }
    }
    const { results } = await policy.peek({ ...known, path: "/api/chat/x", method: "POST", host });
    const used = results.map(({ rule, verdict }) => [rule, verdict.limit - verdict.remaining]);
    // 24 requests below /api, half of them POST at 5; 4 chats of 300 tokens each, in both limits.
    expect(used).toEqual([
      ["shield", 40],
      ["api", 72],
      ["tenant-month", 24],
      ["llm-tokens", 1_200],
      ["llm-tokens", 1_200],
    ]);
    await policy.close();
  });
});
