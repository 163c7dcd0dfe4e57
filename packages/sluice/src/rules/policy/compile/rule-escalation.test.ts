import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { requestHandlerOf } from "../../../../test/handler-stand.js";
import { RemoteStore } from "../../../../test/remote-store.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { redisStore } from "../../../stores/redis/redis-store.js";
import type { Store } from "../../../stores/store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyEvent } from "../policy-events.js";

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const facts = { method: "GET", path: "/login", ip: "203.0.113.10" };
const KEY = "ip:203.0.113.10";
const RULE = {
  id: "login",
  key: "ip",
  limit: { tokenBucket: { capacity: 2, refill: { amount: 1, everyMs: 3_600_000 } } },
  escalate: { after: "3 refusals in 1m", blocks: ["1m", "10m"], forget: "1h" },
};

const policies: Policy[] = [];
afterEach(async () => {
  for (const policy of policies.splice(0)) await policy.close();
});

function stand(
  rule: object = {},
  { store = memoryStore(), clock = new ManualClock(START_MS) } = {} as {
    store?: Store;
    clock?: ManualClock;
  },
) {
  const events: PolicyEvent[] = [];
  const policy = createPolicy({
    rules: { version: 1, rules: [{ ...RULE, ...rule }] },
    store,
    clock,
    onEvent: (event) => events.push(event),
  });
  policies.push(policy);
  const ask = async (count = 1) => {
    let latest = await policy.admit(facts);
    for (let i = 1; i < count; i++) latest = await policy.admit(facts);
    return latest;
  };
  const raised = () => events.filter(({ kind }) => kind === "escalated");
  return { policy, clock, ask, raised, events, store };
}

describe("a caller that keeps being refused", () => {
  it("is blocked at the last refusal that the rule allows, and the refusals of the block count no more", async () => {
    const { ask, raised, clock } = stand();
    expect(await ask(4)).toMatchObject({ allowed: false, reason: "limit" });
    expect(raised()).toEqual([]);
    await ask();
    expect(raised()).toEqual([
      { kind: "escalated", rule: "login", key: KEY, level: 1, blockMs: MINUTE_MS },
    ]);
    expect(await ask(50)).toMatchObject({
      reason: "blocked",
      rule: "login",
      blockedMs: MINUTE_MS,
    });
    clock.advance(MINUTE_MS - 1);
    expect(await ask()).toMatchObject({ reason: "blocked", blockedMs: 1 });
    clock.advance(1);
    expect(await ask()).toMatchObject({ reason: "limit" });
    expect(raised()).toHaveLength(1);
  });

  it("is blocked for longer each time, and the last block repeats", async () => {
    const { ask, raised, clock } = stand();
    await ask(5);
    for (const waitMs of [MINUTE_MS, 10 * MINUTE_MS]) {
      clock.advance(waitMs);
      await ask(3);
    }
    expect(raised()).toMatchObject([
      { level: 1, blockMs: MINUTE_MS },
      { level: 2, blockMs: 10 * MINUTE_MS },
      { level: 2, blockMs: 10 * MINUTE_MS },
    ]);
  });

  it("is not blocked if its refusals don't come within the window", async () => {
    const { ask, raised, clock } = stand();
    await ask(4);
    clock.advance(MINUTE_MS);
    await ask(2);
    expect(raised()).toEqual([]);
    await ask();
    expect(raised()).toHaveLength(1);
  });

  it("is blocked alone", async () => {
    const { ask, policy } = stand();
    await ask(5);
    const other = await policy.admit({ ...facts, ip: "203.0.113.11" });
    expect(other.allowed).toBe(true);
  });

  it("is counted once for each request, however many limits of the rule refuse it", async () => {
    const limit = [{ fixedWindow: { limit: 1, windowMs: 3_600_000 } }, "1/day"];
    const { ask, raised } = stand({ limit });
    await ask(3);
    expect(raised()).toEqual([]);
    await ask();
    expect(raised()).toHaveLength(1);
  });

  it("is blocked in every tier of the rule", async () => {
    const { policy, raised } = stand({ tiers: { pro: "2/day" } });
    for (let i = 0; i < 5; i++) await policy.admit({ ...facts, tier: "pro" });
    expect(raised()).toHaveLength(1);
    expect(await policy.admit(facts)).toMatchObject({ reason: "blocked" });
  });

  it("keeps its level when the rules are replaced", async () => {
    const { ask, policy, raised, clock } = stand();
    await ask(5);
    policy.replace({ version: 1, rules: [RULE, { ...RULE, id: "other" }] });
    clock.advance(MINUTE_MS);
    await ask(3);
    expect(raised().at(-1)).toMatchObject({ rule: "login", level: 2 });
  });
});

describe("what blocks no caller", () => {
  it.each([
    ["a rule in shadow mode", { onExceed: "shadow" }],
    ["a rule without escalate", { escalate: undefined }],
  ])("%s", async (_, rule) => {
    const { ask, raised } = stand(rule);
    await ask(100);
    expect(raised()).toEqual([]);
  });

  it("peek and explain", async () => {
    const { ask, policy, raised } = stand();
    await ask(2);
    for (let i = 0; i < 10; i++) {
      await policy.peek(facts);
      await policy.explain(facts);
    }
    expect(raised()).toEqual([]);
  });

  it("refusals only because requests under way have reserved the limit, until those have failed", async () => {
    const { policy, raised } = stand({ when: { status: [401] } });
    const [first, second] = [await policy.admit(facts), await policy.admit(facts)];
    for (let i = 0; i < 20; i++) {
      expect(await policy.admit(facts)).toMatchObject({ allowed: false, reason: "limit" });
    }
    expect(raised()).toEqual([]);
    await first.finish({ status: 401 });
    for (let i = 0; i < 20; i++) await policy.admit(facts);
    expect(raised()).toEqual([]);
    await second.finish({ status: 401 });
    for (let i = 0; i < 3; i++) await policy.admit(facts);
    expect(raised()).toHaveLength(1);
  });

  it("a reservation that stays open excuses refusals for a minute at most", async () => {
    const { policy, raised, clock } = stand({ when: { status: [401] } });
    await policy.admit(facts);
    await policy.admit(facts);
    clock.advance(MINUTE_MS - 1);
    for (let i = 0; i < 20; i++) await policy.admit(facts);
    expect(raised()).toEqual([]);
    clock.advance(1);
    for (let i = 0; i < 3; i++) await policy.admit(facts);
    expect(raised()).toHaveLength(1);
  });

  it("a reservation excuses a request only if it is large enough", async () => {
    const { policy, raised } = stand({ when: { status: [401] } });
    const failed = await policy.admit(facts);
    await failed.finish({ status: 401 });
    await policy.admit(facts);
    for (let i = 0; i < 3; i++) await policy.admit(facts, { cost: 2 });
    expect(raised()).toHaveLength(1);
  });

  it("a refusal that a pass lifts", async () => {
    const { policy, raised } = stand();
    const redeem = () => {
      policy.refund("login", KEY, 1);
      return true;
    };
    for (let i = 0; i < 20; i++) {
      expect(await policy.admit(facts, { redeem })).toMatchObject({ allowed: true });
    }
    expect(raised()).toEqual([]);
    for (let i = 0; i < 3; i++) await policy.admit(facts, { redeem: () => false });
    expect(raised()).toHaveLength(1);
  });

  it("refusals of a fallback, which say nothing about the caller", async () => {
    const store = new RemoteStore();
    const { ask, raised } = stand({ onStoreFailure: "closed" }, { store });
    store.failing.add("decide");
    expect(await ask(20)).toMatchObject({ allowed: false, source: "fallback" });
    expect(raised()).toEqual([]);
  });
});

describe("an operator", () => {
  it("sees the block, and ends it together with the level", async () => {
    const { ask, policy, raised } = stand();
    await ask(5);
    const { rules, reason } = await policy.explain(facts);
    expect([reason, rules[0].rule]).toEqual(["blocked", "login"]);
    expect(await policy.peek(facts)).toMatchObject({ blockedMs: MINUTE_MS });
    expect(await policy.unblock("login", KEY)).toBe(true);
    expect(await ask(3)).toMatchObject({ reason: "limit" });
    expect(raised().at(-1)).toMatchObject({ level: 1 });
  });
});

describe("an operator who ends a block", () => {
  it.each([
    ["whose rule limits only its tiers", { limit: "unlimited", tiers: { pro: "2/day" } }],
    ["of a key with an override", { overrides: { [KEY]: "2/day" } }],
  ])("%s also forgets the level", async (_, rule) => {
    const { policy, raised } = stand(rule);
    const pro = { ...facts, tier: "pro" };
    for (let i = 0; i < 5; i++) await policy.admit(pro);
    expect(await policy.admit(pro)).toMatchObject({ reason: "blocked" });
    expect(await policy.unblock("login", KEY)).toBe(true);
    for (let i = 0; i < 3; i++) expect(await policy.admit(pro)).toMatchObject({ reason: "limit" });
    expect(raised().map((event) => "level" in event && event.level)).toEqual([1, 1]);
  });

  it("does so for a key that an override has made unlimited meanwhile", async () => {
    const { ask, policy, raised } = stand();
    await ask(5);
    policy.replace({ version: 1, rules: [{ ...RULE, overrides: { [KEY]: "unlimited" } }] });
    expect(await policy.unblock("login", KEY)).toBe(true);
    policy.replace({ version: 1, rules: [RULE] });
    expect(await ask(3)).toMatchObject({ reason: "limit" });
    expect(raised().at(-1)).toMatchObject({ level: 1 });
  });
});

describe("the single-rule path", () => {
  it.each([
    ["on the fast path", {}],
    ["on the general path", { onDecision: () => {} }],
  ])("blocks at the same refusal %s, and says so in the body", (_, options) => {
    const { requestHandler, handle } = requestHandlerOf([RULE], {}, options);
    expect(requestHandler.policy.singleRulePath !== undefined).toBe(!("onDecision" in options));
    const details = Array.from({ length: 6 }, () => {
      const { refusal } = handle();
      return refusal === undefined ? "" : JSON.parse(refusal.body).detail;
    });
    const limited = "The rate limit is exceeded. Try again in 1 hour.";
    expect(details).toEqual([
      "",
      "",
      limited,
      limited,
      limited,
      "Requests of this client are blocked. Try again in 1 hour.",
    ]);
  });
});

describe("processes that share a store in Redis", () => {
  let server: RedisProcess;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port, server.host);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  function process(prefix: string, clock: ManualClock) {
    return stand({}, { store: redisStore(client, { clock, prefix }), clock });
  }

  it("add up their refusals within a second, block everywhere, and every key expires", async () => {
    const clock = new ManualClock(START_MS);
    const [one, other] = [process("shared", clock), process("shared", clock)];
    await one.ask(4);
    await other.ask();
    expect([...one.raised(), ...other.raised()]).toEqual([]);
    clock.advance(1_000);
    await expect.poll(() => [...one.raised(), ...other.raised()].length).toBe(1);
    // A process that starts later knows the block too.
    const late = process("shared", clock);
    for (const { ask } of [one, other, late]) {
      clock.advance(1);
      await expect.poll(async () => (await ask()).reason).toBe("blocked");
    }
    for (const key of await client.keys("shared:*"))
      expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  it("send the store nothing for refusals that they know, apart from a report a second", async () => {
    const clock = new ManualClock(START_MS);
    const { ask } = stand(
      { escalate: { after: "100000 refusals in 1m", blocks: ["1m"] } },
      { store: redisStore(client, { clock, prefix: "flood" }), clock },
    );
    await ask(3);
    const before = await commandsOf(client);
    for (let i = 0; i < 500; i++) await ask();
    expect((await commandsOf(client)) - before).toBeLessThan(10);
  });
});

async function commandsOf(client: Redis): Promise<number> {
  const info = await client.info("commandstats");
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0);
}
