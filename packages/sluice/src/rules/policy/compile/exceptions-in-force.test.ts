import { describe, expect, it } from "vitest";
import { concurrency, fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type RuleException, withExceptions } from "../../exceptions.js";
import type { Facts } from "../../facts.js";
import { parseRules } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import type { Explanation } from "../peek/explain.js";
import type { Policy } from "../policy.js";
import type { PolicyDecision } from "../policy-request/policy-decision.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });
const other = (by: RuleException["by"], value: string, limits: RuleException["limits"]) => ({
  ruleId: "api",
  by,
  value,
  limits,
});

function rulesOf(rule: object, exceptions: readonly RuleException[]) {
  return withExceptions(parseRules({ version: 1, rules: [{ id: "api", ...rule }] }), exceptions);
}

function policyOf(
  rule: object,
  exceptions: readonly RuleException[],
  clock: ManualClock = new ManualClock(0),
): Policy {
  return createPolicy({ rules: rulesOf(rule, exceptions), clock });
}

function admit(policy: Policy, more: Partial<Facts> = {}): PolicyDecision {
  return policy.admit({ ...facts, ...more }) as PolicyDecision;
}

function limitOf(policy: Policy, more: Partial<Facts> = {}): number {
  return (policy.peek({ ...facts, ...more }) as PolicyDecision).limit;
}

function explain(policy: Policy, more: Partial<Facts> = {}): Explanation["rules"][number] {
  return (policy.explain({ ...facts, ...more }) as Explanation).rules[0];
}

/** How many requests pass before the first is refused. */
function countPassing(policy: Policy, more: Partial<Facts> = {}): number {
  let passed = 0;
  while (passed < 1_000 && admit(policy, more).allowed) passed++;
  return passed;
}

describe("exceptions", () => {
  it("hold in this order: override of the key, API key, user, tenant, plan, tier, rule", () => {
    const policy = policyOf(
      {
        key: ["tenant", "user"],
        limit: perMinute(1),
        tiers: { pro: perMinute(2) },
        overrides: { "tenant:acme|user:root": perMinute(7) },
      },
      [
        other("plan", "gold", perMinute(3)),
        other("tenant", "acme", perMinute(4)),
        other("user", "42", perMinute(5)),
        other("apiKey", "k1", perMinute(6)),
      ],
    );
    const all = { tenant: "acme", user: "42", apiKey: "k1", plan: "gold", tier: "pro" };
    //  facts                                        limit
    const steps: [Partial<Facts>, number][] = [
      [{ ...all, user: "root" }, 7],
      [all, 6],
      [{ ...all, apiKey: "k2" }, 5],
      [{ ...all, apiKey: "k2", user: "43" }, 4],
      [{ ...all, apiKey: "k2", user: "43", tenant: "beta" }, 3],
      [{ tenant: "beta", user: "43", plan: "silver", tier: "pro" }, 2],
      [{ tenant: "beta", user: "43" }, 1],
    ];
    for (const [more, limit] of steps) expect(limitOf(policy, more)).toBe(limit);
  });

  it("take a user as rules count it, whatever way it is written", () => {
    const policy = policyOf({ key: "user", limit: perMinute(1) }, [
      other("user", " Ame\u0301lie ", perMinute(9)),
    ]);
    expect(limitOf(policy, { user: "Am\u00e9lie" })).toBe(9);
  });

  it("can lift the limit, and are explained", () => {
    const policy = policyOf({ key: "tenant", limit: perMinute(1) }, [
      { ...other("tenant", "acme", "unlimited"), endsAtMs: 5_000 },
      other("plan", "gold", "9/minute"),
    ]);
    expect(countPassing(policy, { tenant: "acme" })).toBe(1_000);
    expect(explain(policy, { tenant: "acme" })).toMatchObject({
      notApplied: "unlimited",
      from: null,
      exception: { by: "tenant", value: "acme", endsAtMs: 5_000 },
    });
    expect(explain(policy, { tenant: "beta", plan: "gold" })).toMatchObject({
      notApplied: null,
      from: "exception",
      exception: { by: "plan", value: "gold", endsAtMs: null },
    });
    expect(explain(policy, { tenant: "beta" })).toMatchObject({ from: "rule", exception: null });
  });

  it("end by themselves, by the wall clock, and what was used meanwhile stays counted", () => {
    const clock = new ManualClock(0);
    const policy = policyOf(
      { key: "tenant", limit: perMinute(3) },
      [
        { ...other("tenant", "acme", perMinute(5)), endsAtMs: 1_000 },
        { ...other("tenant", "acme", perMinute(9)), endsAtMs: 2_000 },
      ],
      clock,
    );
    const acme = { tenant: "acme" };
    for (let i = 0; i < 4; i++) expect(admit(policy, acme).allowed).toBe(true);
    //  atMs  limit  remaining
    const steps = [
      [999, 5, 1],
      [1_000, 9, 5],
      [1_999, 9, 5],
      [2_000, 3, 0],
    ];
    for (const [atMs, limit, remaining] of steps) {
      clock.set(atMs);
      const decision = policy.peek({ ...facts, ...acme }) as PolicyDecision;
      expect([decision.limit, decision.remaining]).toEqual([limit, remaining]);
    }
  });

  it("make a rule wait for the identity", async () => {
    const policy = policyOf({ key: "ip", limit: perMinute(1) }, [
      other("tenant", "acme", perMinute(2)),
    ]);
    expect(policy.needsIdentity).toBe(true);
    expect(policy.singleRulePath).toBeUndefined();
    const identify = () => ({ ...facts, tenant: "acme" });
    const decision = (await policy.admit(facts, { identify })) as PolicyDecision;
    expect(decision.limit).toBe(2);
  });

  it("count in the counter of the caller, if its key says whom they are for", () => {
    const policy = policyOf({ key: "tenant", limit: perMinute(3) }, []);
    const acme = { tenant: "acme", plan: "gold" };
    for (let i = 0; i < 2; i++) admit(policy, acme);
    policy.replace(
      rulesOf({ key: "tenant", limit: perMinute(3) }, [other("plan", "gold", perMinute(10))]),
    );
    expect(countPassing(policy, acme)).toBe(8);
    policy.replace(rulesOf({ key: "tenant", limit: perMinute(3) }, []));
    expect(admit(policy, acme).allowed).toBe(false);
  });

  it("count separately where callers with and without them share a key", () => {
    const policy = policyOf({ key: "ip", limit: perMinute(3) }, [
      other("tenant", "acme", perMinute(10)),
    ]);
    let [acme, rest] = [0, 0];
    for (let i = 0; i < 50; i++) {
      if (admit(policy, { tenant: "acme" }).allowed) acme++;
      if (admit(policy).allowed) rest++;
    }
    expect([acme, rest]).toEqual([10, 3]);
  });

  it("count separately where a request lacks its key and is counted by its address", () => {
    const policy = policyOf({ key: ["tenant", "user"], onMissing: "ip", limit: perMinute(3) }, [
      other("tenant", "acme", perMinute(10)),
    ]);
    expect(countPassing(policy, { tenant: "acme" })).toBe(10);
    expect(countPassing(policy, { tenant: "beta" })).toBe(3);
    expect(countPassing(policy, { tenant: "acme", user: "42" })).toBe(10);
  });

  it("keep their counters when the same rules are put in force again", () => {
    const bucket = (capacity: number) => ({ tokenBucket: { capacity, refillPerSecond: 1 } });
    const exceptions = [other("tenant", "acme", bucket(4))];
    const policy = policyOf({ key: "ip", limit: perMinute(3) }, exceptions);
    const counterOf = () => admit(policy, { tenant: "acme" }).charges[0].counter;
    const before = counterOf();
    policy.replace(rulesOf({ key: "ip", limit: perMinute(3) }, structuredClone(exceptions)));
    expect(counterOf()).toBe(before);
    policy.replace(
      rulesOf({ key: "ip", limit: perMinute(3) }, [other("tenant", "acme", bucket(9))]),
    );
    expect(admit(policy, { tenant: "acme" })).toMatchObject({ limit: 9, remaining: 6 });
  });

  it("are refused where the rule can't have such a limit", () => {
    const leased = { key: "tenant", limit: perMinute(3), consistency: "leased" };
    expect(() =>
      rulesOf(leased, [other("tenant", "acme", concurrency({ limit: 3, permitMs: 1_000 }))]),
    ).toThrow(
      'rule "api": exceptions["tenant:acme"] is a concurrency limit, which can\'t be leased',
    );
  });
});

describe("operators' verbs on a rule with exceptions", () => {
  const acme = { tenant: "acme" };
  const used = (policy: Policy, more: Partial<Facts>) => {
    const { limit, remaining } = policy.peek({ ...facts, ...more }) as PolicyDecision;
    return limit - remaining;
  };
  const spend = (policy: Policy, count: number, more: Partial<Facts>) => {
    for (let i = 0; i < count; i++) expect(admit(policy, more).allowed).toBe(true);
  };

  it("refund and reset under the numbers of the exception, which cut nothing", () => {
    const policy = policyOf({ key: "tenant", limit: perMinute(3) }, [
      other("tenant", "acme", perMinute(100)),
      other("plan", "gold", perMinute(50)),
    ]);
    spend(policy, 80, acme);
    expect(policy.refund("api", "tenant:acme", 5)).toBe(5);
    expect(used(policy, acme)).toBe(75);
    const gold = { tenant: "beta", plan: "gold" };
    spend(policy, 40, gold);
    expect(policy.refund("api", "tenant:beta", 5)).toBe(5);
    expect(used(policy, gold)).toBe(35);
    policy.reset("api", "tenant:beta");
    expect(used(policy, gold)).toBe(0);
  });

  it("reach a key wherever it is counted, however many exceptions count it", () => {
    const exceptions = Array.from({ length: 300 }, (_, i) =>
      other("tenant", `t${i}`, perMinute(9)),
    );
    const policy = policyOf({ key: "ip", limit: perMinute(3) }, exceptions);
    const key = "ip:203.0.113.10";
    spend(policy, 2, {});
    spend(policy, 5, { tenant: "t299" });
    policy.reset("api", key);
    expect([used(policy, {}), used(policy, { tenant: "t299" })]).toEqual([0, 0]);
    policy.block("api", key, 1_000);
    expect(admit(policy, { tenant: "t7" }).reason).toBe("blocked");
    expect(admit(policy).reason).toBe("blocked");
    expect(policy.unblock("api", key)).toBe(true);
    expect(policy.unblock("api", key)).toBe(false);
    expect(admit(policy, { tenant: "t7" }).allowed).toBe(true);
  });

  it("refuse to block a key that an exception makes unlimited", () => {
    const policy = policyOf({ key: "tenant", limit: perMinute(3) }, [
      other("tenant", "acme", "unlimited"),
    ]);
    expect(() => policy.block("api", "tenant:acme", 1_000)).toThrow("has no limit for");
  });
});
