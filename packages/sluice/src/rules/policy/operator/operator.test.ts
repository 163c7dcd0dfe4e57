import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyEvent } from "../policy-events.js";
import type { PolicyOptions } from "../policy-options.js";
import type { PolicyDecision } from "../policy-request/policy-decision.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "42" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function policyOf(rules: object[], options: Partial<PolicyOptions> = {}): Policy {
  return createPolicy({ rules: { version: 1, rules }, clock: new ManualClock(0), ...options });
}

const admit = (policy: Policy, more: Partial<Facts> = {}) =>
  policy.admit({ ...facts, ...more }) as PolicyDecision;
const peek = (policy: Policy, more: Partial<Facts> = {}, nowMs?: number) =>
  policy.peek({ ...facts, ...more }, { nowMs }) as PolicyDecision;

describe("verbs with nowMs", () => {
  const key = "ip:203.0.113.10";
  const bucket = tokenBucket({ capacity: 10, refillPerSecond: 1 });

  it("block and unblock as of that time, whatever the clock says", () => {
    const policy = policyOf([{ id: "api", limit: bucket }]);
    policy.block("api", key, 5_000, { nowMs: 60_000 });
    expect(peek(policy, {}, 64_999)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(peek(policy, {}, 65_000).allowed).toBe(true);
    expect(policy.unblock("api", key, { nowMs: 65_000 })).toBe(false);
    policy.block("api", key, 5_000, { nowMs: 65_000 });
    expect(policy.unblock("api", key, { nowMs: 69_999 })).toBe(true);
    expect(peek(policy, {}, 69_999).allowed).toBe(true);
  });

  it("refund and reset what is used at that time", () => {
    const policy = policyOf([{ id: "api", limit: bucket }]);
    policy.admit(facts, { cost: 10, nowMs: 60_000 });
    // Four seconds later four of the ten units have come back by themselves.
    expect(policy.refund("api", key, 10, { nowMs: 64_000 })).toBe(6);
    policy.admit(facts, { cost: 10, nowMs: 64_000 });
    policy.reset("api", key, { nowMs: 64_000 });
    expect(peek(policy, {}, 64_000).remaining).toBe(10);
  });

  it("peek, state and explain how a key stands at that time", () => {
    const clock = new ManualClock(60_000);
    const policy = policyOf([{ id: "api", limit: bucket }], { clock });
    policy.admit(facts, { cost: 10 });
    const options = { nowMs: 64_000 };
    expect(policy.peek(facts, options)).toMatchObject({ allowed: true, remaining: 4 });
    expect(policy.state(facts, options)).toMatchObject([{ remaining: 4, retryAfterMs: 0 }]);
    expect(policy.explain(facts, options)).toMatchObject({
      rules: [{ limits: [{ remaining: 4 }] }],
    });
    expect(policy.peek(facts)).toMatchObject({ allowed: false, remaining: 0 });
  });

  it("leave quotas to the calendar", () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const policy = policyOf([{ id: "api", limit: quota({ limit: 5, period: "day" }) }], { clock });
    policy.admit(facts, { cost: 5 });
    const tomorrow = { nowMs: Date.UTC(2026, 0, 2) };
    expect(policy.peek(facts, tomorrow)).toMatchObject({ allowed: false, remaining: 0 });
    expect(policy.refund("api", key, 2, tomorrow)).toBe(2);
    expect(peek(policy).remaining).toBe(2);
  });

  it("refuse a time that can't be counted", () => {
    const policy = policyOf([{ id: "api", limit: bucket }]);
    const options = { nowMs: -1 };
    const invalid = expect.objectContaining({ code: "SLUICE_TIME_INVALID" });
    expect(() => policy.block("api", key, 1, options)).toThrow(invalid);
    expect(() => policy.unblock("api", key, options)).toThrow(invalid);
    expect(() => policy.reset("api", key, options)).toThrow(invalid);
    expect(() => policy.refund("api", key, 1, options)).toThrow(invalid);
    expect(() => policy.peek(facts, options)).toThrow(invalid);
    expect(() => policy.state(facts, options)).toThrow(invalid);
    expect(() => policy.explain(facts, options)).toThrow(invalid);
  });
});

describe("operators' verbs on a key", () => {
  const tiered = [{ id: "api", limit: perMinute(10), tiers: { pro: perMinute(20) } }];

  it("block it in every tier for so long, and unblock it", () => {
    const clock = new ManualClock(0);
    const policy = policyOf(tiered, { clock });
    policy.block("api", "ip:203.0.113.10", 5_000);
    expect(admit(policy)).toMatchObject({ allowed: false, rule: "api", retryAfterMs: 5_000 });
    expect(admit(policy, { tier: "pro" }).allowed).toBe(false);
    expect(admit(policy, { ip: "203.0.113.11" }).allowed).toBe(true);
    clock.advance(5_000);
    expect(admit(policy).allowed).toBe(true);
    policy.block("api", "ip:203.0.113.10", Number.POSITIVE_INFINITY);
    expect(admit(policy, { tier: "pro" }).allowed).toBe(false);
    expect(policy.blockedMs("api", "ip:203.0.113.10")).toBe(Number.POSITIVE_INFINITY);
    policy.unblock("api", "ip:203.0.113.10");
    expect(policy.blockedMs("api", "ip:203.0.113.10")).toBe(0);
    expect(admit(policy, { tier: "pro" }).allowed).toBe(true);
  });

  it("block by the monotonic clock, quotas among the limits too", () => {
    const clock = { now: () => 1_000, wall: () => Date.UTC(2026, 0, 1) };
    const limit = [quota({ limit: 50, period: "day" }), perMinute(5)];
    const policy = policyOf([{ id: "api", limit }], { clock });
    policy.block("api", "ip:203.0.113.10", 5_000);
    expect(admit(policy)).toMatchObject({ allowed: false, retryAfterMs: 5_000 });
    expect(peek(policy)).toMatchObject({ allowed: false, retryAfterMs: 5_000 });
  });

  it("reset and refund it in every tier", () => {
    const policy = policyOf(tiered);
    for (let i = 0; i < 6; i++) {
      admit(policy);
      admit(policy, { tier: "pro" });
    }
    policy.refund("api", "ip:203.0.113.10", 2);
    expect([peek(policy).remaining, peek(policy, { tier: "pro" }).remaining]).toEqual([6, 16]);
    policy.reset("api", "ip:203.0.113.10");
    expect([peek(policy).remaining, peek(policy, { tier: "pro" }).remaining]).toEqual([10, 20]);
  });

  it.each<[string, Limit | Limit[]]>([
    ["fixed window", perMinute(10)],
    ["sliding counter", slidingWindowCounter({ limit: 10, windowMs: 60_000 })],
    ["sliding log", slidingWindowLog({ limit: 10, windowMs: 60_000 })],
    ["token bucket", tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 60_000 } })],
    ["leaky bucket", leakyBucket({ queueSize: 10, ratePerSecond: 1 / 60, mode: "meter" })],
    ["quota", quota({ limit: 10, period: "day" })],
    ["two limits", [perMinute(10), quota({ limit: 50, period: "day" })]],
  ])("say how much a refund really returned (%s)", (_, limit) => {
    const policy = policyOf([{ id: "api", limit }]);
    expect(policy.refund("api", "ip:203.0.113.10", 3)).toBe(0);
    for (let i = 0; i < 5; i++) admit(policy);
    expect(policy.refund("api", "ip:203.0.113.10", 3)).toBe(3);
    expect(policy.refund("api", "ip:203.0.113.10", 30)).toBe(2);
    expect(policy.refund("api", "ip:203.0.113.10", 1)).toBe(0);
  });

  it("say how much a refund returned where only one of two limits was in use", () => {
    const clock = new ManualClock(0);
    const limit = [perMinute(10), quota({ limit: 50, period: "day" })];
    const policy = policyOf([{ id: "api", limit }], { clock });
    for (let i = 0; i < 5; i++) admit(policy);
    clock.advance(60_000);
    expect(policy.refund("api", "ip:203.0.113.10", 9)).toBe(5);
  });

  it("count a unit that was partly in use as one", () => {
    const clock = new ManualClock(0);
    const limit = tokenBucket({ capacity: 10, refillPerSecond: 1 });
    const policy = policyOf([{ id: "api", limit }], { clock });
    for (let i = 0; i < 3; i++) admit(policy);
    clock.advance(500);
    expect(policy.refund("api", "ip:203.0.113.10", 9)).toBe(3);
  });

  it("report a refund over a store that answers later, and that it failed", async () => {
    const store = new RemoteStore();
    const policy = policyOf([{ id: "api", limit: perMinute(10) }], { store });
    await admit(policy);
    expect(await policy.refund("api", "ip:203.0.113.10", 4)).toBe(1);
    store.debit = () => Promise.reject(new Error("gone"));
    store.refund = () => Promise.reject(new Error("gone"));
    await expect(async () => policy.refund("api", "ip:203.0.113.10", 4)).rejects.toThrow();
  });

  it("say so if a block could not hold, since the rule has no limit for the key", () => {
    const policy = policyOf([
      { id: "api", key: "user", limit: perMinute(2), overrides: { "user:42": "unlimited" } },
    ]);
    expect(() => policy.block("api", "user:42", 1_000)).toThrow(
      /the rule does not count this key: rule "api" has no limit for "user:42"/,
    );
    policy.block("api", "user:43", 1_000);
    expect(admit(policy, { user: "43" }).allowed).toBe(false);
  });

  it("reach the numbers of a single key, every limit of a rule, and leave permits to who holds them", () => {
    const limits = [perMinute(5), quota({ limit: 50, period: "day" })];
    const places = concurrency({ limit: 2, permitMs: 9_000 });
    const policy = policyOf([
      {
        id: "a",
        key: "user",
        limit: [...limits, places],
        overrides: { "user:vip": perMinute(100) },
      },
    ]);
    for (let i = 0; i < 2; i++) admit(policy);
    for (let i = 0; i < 9; i++) admit(policy, { user: "vip" });
    policy.refund("a", "user:42", 2);
    policy.refund("a", "user:vip", 4);
    expect(peek(policy).results.map(({ verdict }) => verdict.remaining)).toEqual([5, 50, 0]);
    expect(peek(policy, { user: "vip" }).remaining).toBe(95);
    policy.reset("a", "user:42");
    expect(peek(policy).results.map(({ verdict }) => verdict.remaining)).toEqual([5, 50, 2]);
  });

  it("take a key in any way of writing it, also the address that a rule falls back to", () => {
    const policy = policyOf([{ id: "a", key: "user", limit: perMinute(5) }]);
    policy.block("a", "ip:2001:DB8::1", 1_000);
    expect(admit(policy, { user: undefined, ip: "2001:db8::2" }).allowed).toBe(false);
    policy.block("a", "user: 42", 1_000);
    expect(admit(policy).allowed).toBe(false);
  });

  it("say so if there is no such rule, no such key, or the number is invalid", () => {
    const policy = policyOf([{ id: "a", key: "user", onMissing: "skip", limit: perMinute(5) }]);
    for (const verb of [
      () => policy.block("b", "user:42", 1),
      () => policy.unblock("b", "user:42"),
      () => policy.reset("b", "user:42"),
      () => policy.refund("b", "user:42", 1),
      () => policy.disable("b"),
      () => policy.enable("b"),
    ]) {
      expect(verb).toThrow(/unknown rule: got "b"/);
    }
    expect(() => policy.reset("a", "ip:192.0.2.1")).toThrow(
      /the rule does not count this key: rule "a" counts by user, got "ip:192.0.2.1"$/,
    );
    expect(() => policy.reset("a", "42")).toThrow(/got "42"; did you mean "user:42"\?$/);
    expect(() => policy.block("a", "user:42", 0)).toThrow(/forMs must be/);
    expect(() => policy.refund("a", "user:42", -1)).toThrow(/cost must be/);
  });

  it("reach every shard, and the store of each consistency", async () => {
    const clock = new ManualClock(0);
    for (const consistency of ["local", "eventual", "leased", "strict"]) {
      for (const shards of consistency === "strict" ? [1, 4] : [1]) {
        const rules = [{ id: "a", key: "global", consistency, shards, limit: perMinute(40) }];
        const policy = policyOf(rules, { store: new RemoteStore(), clock });
        for (let i = 0; i < 5; i++) await policy.admit({ ...facts, user: `u${i}` });
        await policy.block("a", "global", 5_000);
        for (let i = 0; i < 5; i++) {
          expect((await policy.admit({ ...facts, user: `u${i}` })).allowed).toBe(false);
        }
        await policy.unblock("a", "global");
        await policy.reset("a", "global");
        const { remaining, limit } = await policy.peek(facts);
        expect(remaining).toBe(limit);
        await policy.close();
      }
    }
  });
});

describe("the kill switch", () => {
  const rules = [
    { id: "a", limit: perMinute(1) },
    { id: "b", key: "user", limit: perMinute(3) },
  ];
  const passing = (policy: Policy) => {
    let passed = 0;
    while (passed < 50 && admit(policy).allowed) passed++;
    return passed;
  };

  it("switches one rule off and on immediately, and keeps what it counted", () => {
    const policy = policyOf(rules);
    expect(passing(policy)).toBe(1);
    policy.disable("a");
    expect(passing(policy)).toBe(2);
    policy.enable("a");
    expect(admit(policy)).toMatchObject({ allowed: false, rule: "a" });
  });

  it("switches everything off and on, which leaves off what was switched off alone", () => {
    const policy = policyOf(rules);
    policy.disable("a");
    policy.disable();
    expect(passing(policy)).toBe(50);
    policy.enable();
    expect(passing(policy)).toBe(3);
  });

  it("holds over a replacement, also one that leaves the rule out for a while", () => {
    const policy = policyOf(rules);
    policy.disable("a");
    policy.replace({ version: 1, rules: [rules[1]] });
    policy.replace({ version: 1, rules });
    expect(passing(policy)).toBe(3);
    policy.replace({ version: 1, rules: [rules[1]] });
    policy.enable("a");
    policy.replace({ version: 1, rules });
    expect(passing(policy)).toBe(0);
    policy.disable();
    policy.replace({ version: 1, rules: [rules[0]] });
    expect(passing(policy)).toBe(50);
  });

  it("does not identify the caller for a rule that is off", () => {
    const policy = policyOf(rules);
    policy.disable("b");
    const identify = () => {
      throw new Error("asked");
    };
    expect(() => policy.admit(facts, { identify })).not.toThrow();
  });

  it("of the file does the same, for a rule and for all", () => {
    const policy = policyOf([{ ...rules[0], enabled: false }, rules[1]]);
    expect(passing(policy)).toBe(3);
    policy.enable("a");
    expect(passing(policy)).toBe(0);
    expect(peek(policy).results).toHaveLength(1);
    policy.replace({ version: 1, enabled: false, rules });
    expect(passing(policy)).toBe(50);
  });

  it("is reported, and lets operators reset what is off", () => {
    const events: PolicyEvent[] = [];
    const policy = policyOf(rules, { onEvent: (event) => events.push(event) });
    admit(policy);
    policy.disable("a");
    policy.reset("a", "ip:203.0.113.10");
    policy.enable("a");
    policy.disable();
    expect(admit(policy).allowed).toBe(true);
    expect(events).toEqual([
      { kind: "disabled", rule: "a" },
      { kind: "enabled", rule: "a" },
      { kind: "disabled", rule: undefined },
    ]);
  });
});
