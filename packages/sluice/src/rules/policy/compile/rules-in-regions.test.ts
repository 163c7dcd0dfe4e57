import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import { concurrency, fixedWindow, leakyBucket, tokenBucket } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { diffRules } from "../../diff.js";
import { withExceptions } from "../../exceptions.js";
import type { Facts } from "../../facts.js";
import { parseRules } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "42", tenant: "acme" };
const perHour = (limit: number) => fixedWindow({ limit, windowMs: 3_600_000 });
const NAMES = ["eu", "us", "ap"];

/** A policy in each region, over one store a region. */
function stand(rules: object[], { home = "eu", weights = {} } = {}) {
  const stores = { eu: new RemoteStore(), us: new RemoteStore(), ap: new RemoteStore() };
  const clock = new ManualClock(0);
  const given = Object.keys(weights).length === 0 ? {} : { weights };
  const policies = NAMES.map((self) =>
    createPolicy({
      rules: { version: 1, rules },
      clock,
      regions: { self, home, stores, ...given },
    }),
  );
  return { stores, policies, clock };
}

async function admitted(policy: Policy, count: number): Promise<number> {
  let sum = 0;
  for (let i = 0; i < count; i++) if ((await policy.admit(facts)).allowed) sum++;
  return sum;
}

async function admittedInEach(policies: readonly Policy[], count: number): Promise<number[]> {
  const sums: number[] = [];
  for (const policy of policies) sums.push(await admitted(policy, count));
  return sums;
}

describe("a limit of 10 in three regions", () => {
  it.each([
    ["each", [10, 10, 10]],
    ["central", [10, 0, 0]],
    ["split", [3, 3, 4]],
  ])("across %s admits %j of 12 requests each", async (across, expected) => {
    const { policies } = stand([{ id: "a", across, limit: perHour(10) }]);
    expect(await admittedInEach(policies, 12)).toEqual(expected);
  });

  it.each(["strict", "leased"])(
    "across merged counts what the others admitted, and says so: %s",
    async (consistency) => {
      const rule = { id: "a", across: "merged", consistency, limit: perHour(10) };
      const { policies, clock } = stand([rule]);
      const [eu, us] = policies;
      expect(await admitted(eu, 6)).toBe(6);
      for (let i = 0; i < 40; i++) {
        clock.advance(50);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { rules } = await us.explain(facts);
      expect(rules[0]).toMatchObject({ across: "merged", region: "us" });
      expect(await admitted(us, 6)).toBe(4);
      const [{ peers }] = us.stats.merged ?? [];
      expect(peers.map(({ region }) => region)).toEqual(["eu", "ap"]);
      for (const policy of policies) await policy.close();
    },
  );

  it.each(["central", "split"])("across %s admits no more out of leases", async (across) => {
    const { policies, clock } = stand([
      { id: "a", across, consistency: "leased", limit: perHour(300) },
    ]);
    let sum = 0;
    for (let i = 0; i < 400; i++) {
      for (const policy of policies) if ((await policy.admit(facts)).allowed) sum++;
      clock.advance(1);
    }
    expect(sum).toBeLessThanOrEqual(300);
    expect(sum).toBeGreaterThan(270);
    const [, us] = policies;
    const { leased, homeLeased } = us.stats;
    expect((across === "central" ? homeLeased : leased)?.leasedDecisions).toBeGreaterThan(0);
  });

  it("follows the weights, and says so in its headers and decisions", async () => {
    const weights = { eu: 5, us: 3, ap: 2 };
    const { policies } = stand([{ id: "a", across: "split", limit: perHour(10) }], { weights });
    const us = await policies[1].admit(facts);
    expect(us.results[0].verdict).toMatchObject({ limit: 3, remaining: 2 });
    expect(await admittedInEach(policies, 12)).toEqual([5, 2, 2]);
  });

  it("splits what tiers, overrides and exceptions say, and each once", async () => {
    const rules = parseRules({
      version: 1,
      rules: [
        {
          id: "a",
          key: "tenant",
          across: "split",
          limit: { quota: { limit: 9, period: "month" } },
          tiers: { pro: perHour(30) },
          overrides: { "tenant:big": perHour(90) },
        },
      ],
    });
    const excepted = withExceptions(rules, [
      { ruleId: "a", by: "tenant", value: "vip", limits: perHour(60) },
    ]);
    const stores = { eu: memoryStore(), us: memoryStore(), ap: memoryStore() };
    const policy = createPolicy({ rules: excepted, regions: { self: "us", home: "eu", stores } });
    policy.describeTenants(() => ({ timeZone: "Asia/Tokyo" }));
    const limitOf = async (part: Partial<Facts>) =>
      (await policy.peek({ ...facts, ...part })).results[0].verdict.limit;
    expect(await limitOf({})).toBe(3);
    expect(await limitOf({ tier: "pro" })).toBe(10);
    expect(await limitOf({ tenant: "big" })).toBe(30);
    expect(await limitOf({ tenant: "vip" })).toBe(20);
    expect(policy.rules.rules[0].limits[0].capacity).toBe(9);
  });

  it("is charged all or nothing where rules of several kinds match", async () => {
    const { policies } = stand([
      { id: "near", limit: perHour(10) },
      { id: "part", across: "split", limit: perHour(30) },
      { id: "far", across: "central", limit: perHour(4) },
    ]);
    expect(await admittedInEach(policies, 5)).toEqual([4, 0, 0]);
    const [, us] = policies;
    const left = (await us.peek(facts)).results.map(({ verdict }) => verdict.remaining);
    expect(left).toEqual([10, 10, 0]);
  });

  it("says in its explanation which region decides", async () => {
    const { policies } = stand([
      { id: "near", limit: perHour(10) },
      { id: "far", across: "central", limit: perHour(4) },
    ]);
    const { rules } = await policies[1].explain(facts);
    expect(rules.map(({ rule, across, region }) => [rule, across, region])).toEqual([
      ["near", "each", "us"],
      ["far", "central", "eu"],
    ]);
    const alone = createPolicy({ rules: { version: 1, rules: [{ id: "a", limit: perHour(1) }] } });
    expect((await alone.explain(facts)).rules[0]).not.toHaveProperty("region");
  });
});

describe("when the home region can't be reached", () => {
  it("central rules refuse by default, and follow onStoreFailure where they say it", async () => {
    for (const [onStoreFailure, expected] of [
      [undefined, 0],
      ["closed", 0],
      ["open", 5],
    ] as const) {
      const care = onStoreFailure === undefined ? {} : { onStoreFailure };
      const { policies, stores } = stand([
        { id: "a", across: "central", limit: perHour(10), ...care },
      ]);
      stores.eu.failing.add("decide");
      expect(await admitted(policies[1], 5)).toBe(expected);
    }
  });

  it("each and split rules don't notice", async () => {
    const { policies, stores } = stand([
      { id: "near", limit: perHour(10) },
      { id: "part", across: "split", limit: perHour(9) },
    ]);
    stores.eu.failing.add("decide");
    expect(await admitted(policies[1], 5)).toBe(3);
    expect(stores.eu.calls.decide).toBe(0);
  });
});

describe("stores of regions", () => {
  it("stay open when the policy is closed", async () => {
    const { policies, stores } = stand([{ id: "a", across: "central", limit: perHour(10) }]);
    await policies[1].admit(facts);
    await policies[1].close();
    expect([stores.eu.calls.close, stores.us.calls.close]).toEqual([0, 0]);
  });

  it("are the policy's store, and no other may be given", () => {
    const stores = { eu: memoryStore() };
    const regions = { self: "eu", home: "eu", stores };
    const rules = { version: 1, rules: [] };
    expect(() => createPolicy({ rules, regions, store: stores.eu })).not.toThrow();
    expect(() => createPolicy({ rules, regions, store: memoryStore() })).toThrow(
      "store is not that of its own region",
    );
  });
});

describe("a rule that regions can't keep", () => {
  const policyOf = (rule: object, regions = true) => {
    const stores = { eu: memoryStore(), us: memoryStore(), ap: memoryStore() };
    const given = regions ? { regions: { self: "eu", home: "eu", stores } } : {};
    return () => createPolicy({ rules: { version: 1, rules: [{ id: "a", ...rule }] }, ...given });
  };
  const limit = perHour(10);

  it.each<[string, object, string]>([
    ["an unknown across", { across: "centrall", limit }, "did you mean central?"],
    [
      "eventual",
      { across: "split", consistency: "eventual", limit },
      "is split, which needs consistency strict or leased, got eventual",
    ],
    ["local", { across: "central", consistency: "local", limit }, "got local"],
    [
      "merged permits",
      { across: "merged", limit: { concurrency: { limit: 9, permitMs: 1_000 } } },
      "is a concurrency, which can't be merged: it is a list, not a count; use across: central",
    ],
    [
      "a merged log",
      { across: "merged", limit: { slidingWindowLog: { limit: 9, windowMs: 1_000 } } },
      "is a slidingWindowLog, which can't be merged: it is a list, not a count; use a slidingWindowCounter, or across: central",
    ],
    [
      "a merged shaper",
      { across: "merged", limit: leakyBucket({ ratePerSecond: 9, queueSize: 8 }) },
      "is a leakyBucket that shapes, which can't be merged",
    ],
    [
      "merged windows of the first request",
      { across: "merged", limit: fixedWindow({ limit: 9, windowMs: 1_000, align: "first" }) },
      "which can't be merged: each region would have windows of its own",
    ],
    [
      "merged windows that are too short",
      { across: "merged", limit: fixedWindow({ limit: 9, windowMs: 999 }) },
      "has windows of 999 ms, too short to be merged",
    ],
    [
      "durable",
      { across: "central", durable: true, limit: { quota: { limit: 9, period: "day" } } },
      "a durable rule has one ledger for all regions",
    ],
    [
      "a shaper",
      { across: "split", limit: leakyBucket({ ratePerSecond: 9, queueSize: 8 }) },
      "each region would space its own requests",
    ],
    [
      "windows that start with the first request",
      { across: "split", limit: fixedWindow({ limit: 9, windowMs: 1_000, align: "first" }) },
      "each region would have windows of its own",
    ],
    [
      "fewer units than regions",
      { across: "split", limit: perHour(2) },
      "leaves the region us 0 of the 2 units of a fixedWindow, which needs at least 1",
    ],
    [
      "a cost above a share",
      { across: "split", cost: 4, limit },
      "3 of the 10 units of a fixedWindow, which needs at least 4; use across: central",
    ],
    [
      "more shards than a share",
      {
        across: "split",
        key: "global",
        shards: 4,
        limit: tokenBucket({ capacity: 11, refillPerSecond: 1 }),
      },
      "which needs at least 4",
    ],
  ])("is refused: %s", (_, rule, message) => {
    expect(policyOf(rule)).toThrow(message);
  });

  it("is refused without regions, by name", () => {
    expect(policyOf({ across: "central", limit }, false)).toThrow(
      'rule "a": across: central needs regions: set regions in the configuration',
    );
    expect(policyOf({ across: "each", limit }, false)).not.toThrow();
  });

  it("is refused without a store for every region, if counts are merged", () => {
    const stores = { eu: memoryStore(), us: memoryStore() };
    const regions = { self: "eu", home: "eu", stores, weights: { eu: 1, us: 1, ap: 1 } };
    const rules = { version: 1, rules: [{ id: "a", across: "merged", limit }] };
    expect(() => createPolicy({ rules, regions })).toThrow(
      "across: merged needs a store for every region, and ap has none; add it to regions.stores",
    );
  });

  it("counts permits one by one, whatever the cost", () => {
    const permits = concurrency({ limit: 3, permitMs: 1_000 });
    expect(policyOf({ across: "split", cost: 5, limit: [permits, perHour(90)] })).not.toThrow();
  });
});

describe("a change of across", () => {
  const fateOf = (before: object, after: object) => {
    const [was, is] = [before, after].map((part) =>
      parseRules({ version: 1, rules: [{ id: "a", limit: perHour(10), ...part }] }),
    );
    return diffRules(was, is).changed[0].limits.map(({ fate, why }) => [fate, why]);
  };

  it("says what becomes of the counters", () => {
    expect(fateOf({}, { across: "central" })).toEqual([["empty", "counted in another region"]]);
    expect(fateOf({}, { across: "split" })).toEqual([["carried", "another share of it"]]);
  });
});
