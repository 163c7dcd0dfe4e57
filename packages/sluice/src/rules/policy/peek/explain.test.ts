import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import { fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyDecision } from "../policy-request/policy-decision.js";
import type { ExplainOptions, Explanation } from "./explain.js";
import type { RuleState } from "./peek.js";

const facts: Facts = {
  method: "POST",
  path: "/login",
  ip: "203.0.113.10",
  user: "42",
  tier: "pro",
};
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function policyOf(...rules: object[]): Policy {
  const exempt = { ips: ["10.0.0.0/8"] };
  return createPolicy({ rules: { version: 1, exempt, rules }, clock: new ManualClock(0) });
}

const explain = (policy: Policy, more: Partial<Facts> = {}, options?: ExplainOptions) =>
  policy.explain({ ...facts, ...more }, options) as Explanation;

describe("explain", () => {
  const login = { id: "login", match: { path: ["/login", "/signin"], methods: ["POST"] } };

  it("says when a rule blocks callers that it keeps refusing; in shadow mode it does not", () => {
    const escalate = { after: "20 refusals in 1m", blocks: ["1m", "1h"], forget: "1d" };
    const rule = { match: { path: "/login" }, limit: perMinute(1), escalate };
    const { rules } = explain(
      policyOf({ id: "a", ...rule }, { id: "b", ...rule, onExceed: "shadow" }),
    );
    expect(rules[0].escalate).toEqual({
      ...{ refusals: 20, windowMs: 60_000 },
      ...{ blocksMs: [60_000, 3_600_000], forgetMs: 86_400_000 },
    });
    expect(rules[1]).not.toHaveProperty("escalate");
  });

  it("with counters shows how the caller stands under rules that this request does not match", () => {
    const policy = policyOf(
      { ...login, limit: perMinute(1) },
      { id: "by-user", match: { path: "/api" }, key: "user", limit: perMinute(5) },
      {
        id: "by-tenant",
        match: { path: "/api" },
        key: "tenant",
        onMissing: "skip",
        limit: perMinute(5),
      },
      { id: "by-endpoint", match: { path: "/x" }, key: ["ip", "endpoint"], limit: perMinute(5) },
      { id: "off", match: { path: "/api" }, enabled: false, limit: perMinute(5) },
    );
    policy.admit(facts);
    const elsewhere = explain(policy, { method: "GET", path: "/" }, { counters: true });
    // What it would be refused elsewhere says nothing about this request.
    expect(elsewhere).toMatchObject({ allowed: true, rule: null });
    expect(elsewhere.rules.map(({ rule, isMatch, key }) => [rule, isMatch, key])).toEqual([
      ["login", false, "ip:203.0.113.10"],
      ["by-user", false, "user:42"],
    ]);
    expect(elsewhere.rules[0]?.limits).toMatchObject([{ limit: 1, remaining: 0 }]);
    const many = Array.from({ length: 300 }, (_, i) => ({
      id: `r${i}`,
      match: { path: "/api" },
      limit: perMinute(1),
    }));
    expect(explain(policyOf(...many), {}, { counters: true }).rules).toHaveLength(256);
  });

  it("says which rule matches by what, its key, its numbers, its state and what would happen", () => {
    const policy = policyOf(
      { ...login, limit: perMinute(3) },
      { id: "api", key: "user", limit: perMinute(5), tiers: { pro: perMinute(9) } },
    );
    policy.admit(facts);
    const { version, allowed, rule, rules } = explain(policy);
    expect({ version, allowed, rule }).toEqual({
      version: policy.version,
      allowed: true,
      rule: "login",
    });
    expect(rules[0]).toEqual({
      rule: "login",
      place: null,
      isMatch: true,
      conditions: [
        { on: "path", wanted: "/login, /signin", isMet: true },
        { on: "method", wanted: "POST", isMet: true },
      ],
      notApplied: null,
      onExceed: "reject",
      keyType: "ip",
      key: "ip:203.0.113.10",
      from: "rule",
      exception: null,
      switch: "on",
      settledBy: null,
      limits: [
        {
          algorithm: "fixedWindow",
          limit: 3,
          remaining: 2,
          resetMs: 60_000,
          cost: 1,
          wouldPass: true,
          retryAfterMs: 0,
          delayMs: 0,
        },
      ],
      blockedMs: 0,
    });
    expect(rules[1]).toMatchObject({ key: "user:42", from: "tier", conditions: [] });
  });

  it("says that a key is blocked and for how long, not that it is over its limit", () => {
    const policy = policyOf({ id: "login", key: "ip", limit: perMinute(9) });
    policy.block("login", "ip:203.0.113.10", 5_000);
    const { reason, rules } = explain(policy);
    expect([reason, rules[0].blockedMs]).toEqual(["blocked", 5_000]);
    policy.block("login", "ip:203.0.113.10", Number.POSITIVE_INFINITY);
    expect(explain(policy).rules[0].blockedMs).toBeNull();
    expect(policy.unblock("login", "ip:203.0.113.10")).toBe(true);
    expect(policy.unblock("login", "ip:203.0.113.10")).toBe(false);
    expect(explain(policy)).toMatchObject({ reason: null, rules: [{ blockedMs: 0 }] });
  });

  it("names the override, and the rule that would refuse", () => {
    const overrides = { "user:42": perMinute(1) };
    const policy = policyOf(
      { id: "roomy", limit: perMinute(9) },
      { id: "tight", key: "user", limit: perMinute(9), overrides },
    );
    policy.admit(facts);
    const { allowed, rule, reason, retryAfterMs, rules } = explain(policy);
    expect({ allowed, rule, reason, retryAfterMs }).toEqual({
      allowed: false,
      rule: "tight",
      reason: "limit",
      retryAfterMs: 60_000,
    });
    expect(rules[1]).toMatchObject({ from: "override", limits: [{ wouldPass: false }] });
  });

  it("charges nothing, and agrees with what admit then answers", () => {
    const policy = policyOf({ id: "a", limit: perMinute(2) }, { id: "b", limit: perMinute(3) });
    for (let i = 0; i < 4; i++) {
      for (let j = 0; j < 5; j++) explain(policy);
      const { allowed, rule, retryAfterMs } = explain(policy);
      const decision = policy.admit(facts) as PolicyDecision;
      expect({ allowed, rule, retryAfterMs }).toEqual({
        allowed: decision.allowed,
        rule: decision.rule,
        retryAfterMs: decision.retryAfterMs,
      });
    }
  });

  it("says why a rule that matches does not apply", () => {
    const limit = perMinute(5);
    const policy = policyOf(
      { id: "exempt-ip", limit, exempt: { ips: ["203.0.113.0/24"] } },
      { id: "exempt-key", key: "user", limit, exempt: { keys: ["user:42"] } },
      { id: "missing", key: "tenant", onMissing: "skip", limit },
      { id: "refused", key: "tenant", onMissing: "refuse", limit },
      { id: "rollout", limit, rollout: 0 },
      { id: "unlimited", limit, tiers: { pro: "unlimited" } },
      { id: "disabled", limit, enabled: false },
    );
    const { rules, allowed, rule, reason, retryAfterMs } = explain(policy);
    expect(rules.map((each) => each.notApplied)).toEqual(rules.map((each) => each.rule));
    expect({ allowed, rule, reason, retryAfterMs }).toEqual({
      allowed: false,
      rule: "refused",
      reason: "identity",
      retryAfterMs: null,
    });
  });

  it("says that an operator or the set switched a rule off, and that the set exempts the caller", () => {
    const policy = policyOf({ id: "a", limit: perMinute(5) });
    expect(explain(policy, { ip: "10.1.1.1" }).rules[0].notApplied).toBe("exempt-ip");
    policy.disable("a");
    expect(explain(policy).rules[0].notApplied).toBe("disabled");
    policy.enable("a");
    policy.disable();
    expect(explain(policy)).toMatchObject({ allowed: true, rules: [{ notApplied: "disabled" }] });
  });

  it("shows rules that don't match only if asked, with the condition that fails", () => {
    const policy = policyOf(
      { ...login, limit: perMinute(5) },
      {
        id: "beta",
        match: {
          host: "api.example.com",
          headers: { "x-beta": true },
          attributes: { tier: ["pro"] },
        },
        limit: perMinute(5),
      },
      { id: "off", enabled: false, match: { path: "/other" }, limit: perMinute(5) },
    );
    expect(explain(policy, { method: "GET" }).rules).toEqual([]);
    const { rules } = explain(policy, { method: "GET" }, { all: true });
    expect(rules.map(({ rule, isMatch, key, limits }) => [rule, isMatch, key, limits])).toEqual([
      ["login", false, null, []],
      ["beta", false, null, []],
      ["off", false, null, []],
    ]);
    expect(rules[0].conditions.map(({ on, isMet }) => [on, isMet])).toEqual([
      ["path", true],
      ["method", false],
    ]);
    expect(rules[1].conditions).toEqual([
      { on: "host", wanted: "api.example.com", isMet: false },
      { on: "header", wanted: "x-beta", isMet: false },
      { on: "attribute", wanted: "tier: pro", isMet: true },
    ]);
  });

  it("is plain JSON, with null for what never ends, and names the line of a rule", () => {
    const text = [
      "version: 1",
      "rules:",
      "  - id: a",
      "    limit: 5/minute",
      "    cost: { header: x-cost, max: 50 }",
    ].join("\n");
    const policy = createPolicy({ rules: text, clock: new ManualClock(0) });
    const explained = explain(policy, { headers: { "x-cost": "50" } });
    expect(explained).toMatchObject({ allowed: false, retryAfterMs: null });
    expect(explained.rules[0]).toMatchObject({
      place: expect.stringContaining("3"),
      limits: [{ retryAfterMs: null }],
    });
    expect(JSON.parse(JSON.stringify(explained))).toEqual(explained);
  });

  it("shows delays, and waits for stores that have to be waited for", async () => {
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 10 });
    const policy = createPolicy({
      rules: { version: 1, rules: [{ id: "slow", limit, onExceed: "delay", delayMsMax: 500 }] },
      store: new RemoteStore(),
      clock: new ManualClock(0),
    });
    await policy.admit(facts);
    expect(await policy.explain(facts)).toMatchObject({ allowed: true, delayMs: 100 });
  });
});

describe("the cost that explain shows", () => {
  it("is the rule's, also where a delaying bucket can never hold it", () => {
    const limit = tokenBucket({ capacity: 10, refillPerSecond: 10 });
    const cost = { header: "x-cost", min: 1, max: 50 };
    const policy = policyOf({ id: "a", limit, onExceed: "delay", delayMsMax: 5_000, cost });
    const { rules } = explain(policy, { headers: { "x-cost": "20" } });
    expect(rules[0].limits[0]).toMatchObject({ cost: 20, wouldPass: false });
  });

  it("is what the body reserves, beside what says the real one", () => {
    const cost = { json: "options.max_tokens", max: 50, otherwise: 9 };
    const settle = { json: ["a.b | c", "d"] };
    const policy = policyOf({ id: "a", limit: perMinute(100), cost, settle });
    const asked = explain(policy, { body: { options: { max_tokens: 20 } } });
    expect(asked.rules[0]).toMatchObject({ settledBy: "json a.b | c, d", limits: [{ cost: 20 }] });
    expect(explain(policy, {}).rules[0].limits[0].cost).toBe(9);
  });
});

describe("state", () => {
  it("shows how the caller stands under every exposed rule, whatever it asks for, and never the key", () => {
    const policy = policyOf(
      { id: "login", match: { path: "/login", methods: ["POST"] }, limit: perMinute(3) },
      { id: "api", key: ["tenant", "user"], onMissing: "skip", limit: perMinute(9) },
      { id: "user", key: "user", limit: perMinute(9) },
      { id: "hidden", limit: perMinute(9), expose: false },
      { id: "shadow", limit: perMinute(9), onExceed: "shadow" },
      { id: "free", match: { attributes: { tier: ["free"] } }, limit: perMinute(9) },
      {
        id: "endpoints",
        key: ["user", "endpoint"],
        match: { path: "/login" },
        limit: perMinute(9),
      },
    );
    policy.admit(facts);
    const asking = { ...facts, method: "GET", path: "/rate_limit" };
    const states = policy.state(asking) as readonly RuleState[];
    expect(states).toEqual([
      {
        rule: "login",
        keyType: "ip",
        algorithm: "fixedWindow",
        limit: 3,
        remaining: 2,
        resetMs: 60_000,
        retryAfterMs: 0,
      },
      {
        rule: "user",
        keyType: "user",
        algorithm: "fixedWindow",
        limit: 9,
        remaining: 8,
        resetMs: 60_000,
        retryAfterMs: 0,
      },
    ]);
    expect(JSON.stringify(states)).not.toContain("42");
    expect(policy.state(asking)).toEqual(states);
    const onEndpoint = policy.state(facts) as readonly RuleState[];
    expect(onEndpoint.map(({ rule }) => rule)).toContain("endpoints");
  });

  it("shows at most 256 limits, however many rules there are", () => {
    const rules = Array.from({ length: 400 }, (_, i) => ({ id: `r${i}`, limit: perMinute(5) }));
    expect(policyOf(...rules).state(facts)).toHaveLength(256);
    const limit = [1, 2, 3, 4, 5].map(perMinute);
    const wide = Array.from({ length: 60 }, (_, i) => ({ id: `r${i}`, limit }));
    expect(policyOf(...wide).state(facts)).toHaveLength(256);
  });

  it("calls no cost function, which might know nothing of a request that only asks", () => {
    const cost = () => {
      throw new Error("no model named");
    };
    const policy = createPolicy({
      rules: {
        version: 1,
        rules: [{ id: "llm", limit: perMinute(5), cost: { function: "cost" } }],
      },
      costs: { cost },
    });
    expect(policy.state(facts)).toMatchObject([{ rule: "llm", remaining: 5, retryAfterMs: 0 }]);
  });
});
