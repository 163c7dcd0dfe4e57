import { describe, expect, it } from "vitest";
import { fixedWindow, quota, tokenBucket } from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { Facts } from "../facts.js";
import { createPolicy } from "./create-policy.js";
import type { Policy } from "./policy.js";
import type { PolicyOptions } from "./policy-options.js";
import type { PolicyDecision } from "./policy-request/policy-decision.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function policyOf(rules: object[], options: Partial<PolicyOptions> = {}): Policy {
  return createPolicy({ rules: { version: 1, rules }, clock: new ManualClock(0), ...options });
}

function admit(policy: Policy, more: Partial<Facts> = {}): PolicyDecision {
  return policy.admit({ ...facts, ...more }) as PolicyDecision;
}

/** How many requests pass before the first is refused. */
function countPassing(policy: Policy, more: Partial<Facts> = {}): number {
  let passed = 0;
  while (passed < 1_000 && admit(policy, more).allowed) passed++;
  return passed;
}

describe("a policy over memory", () => {
  it("answers synchronously, and names the binding rule", () => {
    const policy = policyOf([
      { id: "burst", limit: tokenBucket({ capacity: 3, refillPerSecond: 1 }) },
      { id: "all", key: "global", limit: fixedWindow({ limit: 2, windowMs: 1000 }) },
    ]);
    const decisions = [1, 2, 3].map(() => admit(policy));
    expect(decisions.map(({ allowed, rule, remaining }) => [allowed, rule, remaining])).toEqual([
      [true, "all", 1],
      [true, "all", 0],
      [false, "all", 0],
    ]);
    expect(decisions[2].results.map(({ verdict }) => verdict.remaining)).toEqual([1, 0]);
  });

  it("charges nothing anywhere for a request that one rule refuses", () => {
    const policy = policyOf([
      { id: "ten", limit: perMinute(10) },
      { id: "one", key: "global", limit: perMinute(1) },
      { id: "watching", key: "global", limit: perMinute(10), onExceed: "shadow" },
    ]);
    for (let i = 0; i < 50; i++) admit(policy);
    const { results } = policy.peek(facts) as PolicyDecision;
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([9, 0, 9]);
  });

  it("answers the longest wait of those that refuse, and the priority breaks ties", () => {
    const policy = policyOf([
      { id: "second", limit: fixedWindow({ limit: 1, windowMs: 1_000 }) },
      { id: "minute", limit: perMinute(1) },
      { id: "first", limit: perMinute(1), priority: 5 },
    ]);
    admit(policy);
    const refused = admit(policy);
    expect([refused.rule, refused.retryAfterMs]).toEqual(["first", 60_000]);
    expect(refused.results.map(({ rule }) => rule)).toEqual(["first", "second", "minute"]);
  });

  it("shows the rule with the smallest share left, not with the fewest units", () => {
    const policy = policyOf([
      { id: "large", limit: perMinute(100), cost: 60 },
      { id: "small", limit: perMinute(10) },
    ]);
    expect(admit(policy)).toMatchObject({ rule: "large", limit: 100, remaining: 40 });
  });

  it("lets everything pass where no rule matches, with infinite numbers", () => {
    const policy = policyOf([{ id: "login", match: { path: "/login" }, limit: "1/minute" }]);
    expect(admit(policy)).toMatchObject({ allowed: true, rule: undefined, remaining: Infinity });
    expect(JSON.parse(JSON.stringify(admit(policy)))).toMatchObject({ limit: null });
    expect(countPassing(policy, { path: "/login" })).toBe(1);
  });

  it("says never, and charges nothing, for a cost that can never fit", () => {
    const rule = { id: "a", limit: perMinute(5), cost: { function: "size" } };
    const policy = policyOf([rule], { costs: { size: () => 6 } });
    expect(admit(policy)).toMatchObject({ allowed: false, retryAfterMs: Infinity, remaining: 5 });
  });

  it("counts a request id once, also where only one rule matches", () => {
    const policy = policyOf([{ id: "a", limit: perMinute(5) }]);
    for (let i = 0; i < 3; i++) policy.admit(facts, { requestId: "r1" });
    expect((policy.peek(facts) as PolicyDecision).remaining).toBe(4);
  });

  it("decides at the time that it is given, and quotas by the wall clock all the same", () => {
    const clock = new ManualClock(0);
    const policy = policyOf(
      [
        { id: "minute", limit: perMinute(1), match: { methods: ["GET"] } },
        { id: "day", limit: quota({ limit: 1, period: "day" }), match: { methods: ["PUT"] } },
      ],
      { clock },
    );
    const passes = (method: string, nowMs: number) => {
      const { allowed } = policy.admit({ ...facts, method }, { nowMs }) as PolicyDecision;
      return allowed;
    };
    const dayMs = 86_400_000;
    expect([0, 0, 60_000, 60_000.9].map((ms) => passes("GET", ms))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([0, dayMs].map((ms) => passes("PUT", ms))).toEqual([true, false]);
    clock.advance(dayMs);
    expect(passes("PUT", 0)).toBe(true);
    expect(() => passes("GET", Number.NaN)).toThrow(/nowMs must be a number of milliseconds/);
  });

  it("counts quotas by the wall clock and everything else by the monotonic one", () => {
    const clock = {
      now: () => 1_000,
      wall: () => Date.UTC(2026, 0, 31, 23, 59, 59),
    };
    const policy = policyOf(
      [{ id: "q", limit: [quota({ limit: 5, period: "month" }), perMinute(10)] }],
      { clock },
    );
    const [month, minute] = admit(policy).results;
    expect(month.verdict.resetMs).toBe(1_000);
    expect(minute.verdict.resetMs).toBe(59_000);
  });
});

describe("who a rule counts", () => {
  it("leaves exempt addresses and keys alone, of one rule and of the set", () => {
    const rules = [
      {
        id: "a",
        limit: perMinute(1),
        exempt: { ips: ["198.51.100.0/24"], keys: ["ip:192.0.2.1"] },
      },
      { id: "b", key: "user", onMissing: "skip", limit: perMinute(2) },
    ];
    const exempt = { ips: ["10.0.0.0/8"], keys: ["user:root"] };
    const policy = createPolicy({
      rules: { version: 1, exempt, rules },
      clock: new ManualClock(0),
    });
    expect(countPassing(policy, { ip: "198.51.100.7", user: "42" })).toBe(2);
    expect(countPassing(policy, { ip: "192.0.2.1", user: "43" })).toBe(2);
    expect(countPassing(policy, { ip: "10.1.2.3", user: "44" })).toBe(1_000);
    expect(countPassing(policy, { ip: "::ffff:10.1.2.3", user: "44" })).toBe(1_000);
    expect(countPassing(policy, { ip: "192.0.2.1", user: "root" })).toBe(1_000);
    expect(countPassing(policy, { ip: "203.0.113.9", user: "root" })).toBe(1);
  });

  it("skips, refuses or falls back to the address where a dimension is missing", () => {
    const rule = { id: "a", key: "user", limit: perMinute(1) };
    expect(countPassing(policyOf([{ ...rule, onMissing: "skip" }]))).toBe(1_000);
    expect(countPassing(policyOf([{ ...rule, onMissing: "ip" }]))).toBe(1);
    const refused = admit(policyOf([{ ...rule, onMissing: "refuse" }]));
    expect(refused).toMatchObject({
      allowed: false,
      rule: "a",
      reason: "identity",
      retryAfterMs: Infinity,
    });
    const unidentified = admit(policyOf([{ ...rule, onMissing: "ip" }]), { ip: undefined });
    expect(unidentified).toMatchObject({ allowed: false, reason: "identity" });
  });

  it("never refuses by a shadow rule, whatever is missing or exceeded", () => {
    const shadow = { onExceed: "shadow", limit: perMinute(1) };
    const policy = policyOf([
      { id: "a", key: "user", onMissing: "refuse", ...shadow },
      { id: "b", ...shadow },
    ]);
    expect(countPassing(policy)).toBe(1_000);
    const { results } = admit(policy);
    expect(results.map(({ verdict, shadow }) => [shadow, verdict.allowed])).toEqual([
      [true, false],
    ]);
  });

  it("gives each tier its numbers, and a key its own before them", () => {
    const policy = policyOf([
      {
        id: "api",
        key: "user",
        limit: perMinute(2),
        tiers: { pro: perMinute(4), staff: "unlimited" },
        overrides: { "user:vip": perMinute(6) },
      },
    ]);
    expect(countPassing(policy, { user: "1" })).toBe(2);
    expect(countPassing(policy, { user: "2", tier: "pro" })).toBe(4);
    expect(countPassing(policy, { user: "3", tier: "staff" })).toBe(1_000);
    expect(countPassing(policy, { user: "vip", tier: "pro" })).toBe(6);
    expect(countPassing(policy, { user: "4", tier: "unheard-of" })).toBe(2);
  });

  it("counts each tier apart, so that callers who take turns clip nothing", () => {
    const tiers = { pro: perMinute(40) };
    const policy = policyOf([{ id: "a", key: "tenant", limit: perMinute(2), tiers }]);
    let passed = 0;
    for (let i = 0; i < 200; i++) {
      if (admit(policy, { tenant: "acme", tier: "pro" }).allowed) passed++;
      admit(policy, { tenant: "acme", tier: "free" });
    }
    expect(passed).toBe(40);
    expect(countPassing(policy, { tenant: "other" })).toBe(2);
  });

  it("counts a stable share of keys under a rollout, which only grows", () => {
    const users = Array.from({ length: 2_000 }, (_, i) => `u${i}`);
    const countedAt = (rollout: number) => {
      const policy = policyOf([{ id: "a", key: "user", limit: perMinute(1), rollout }]);
      return new Set(users.filter((user) => admit(policy, { user }).results.length > 0));
    };
    const [none, some, more, all] = [0, 10, 50, 100].map(countedAt);
    expect([none.size, all.size]).toEqual([0, 2_000]);
    expect(some.size).toBeGreaterThan(140);
    expect(some.size).toBeLessThan(260);
    expect([...some].every((user) => more.has(user))).toBe(true);
  });
});

describe("the results of a decision", () => {
  it("say rule, kind of key, algorithm and cost of each limit, and neither keys nor internals", () => {
    const policy = policyOf([
      { id: "a", key: ["tenant", "user"], limit: perMinute(5), cost: 2 },
      { id: "b", limit: perMinute(5), onExceed: "shadow" },
    ]);
    const { results } = admit(policy, { tenant: "acme", user: "secret" });
    const algorithm = "fixedWindow";
    expect(results).toEqual([
      {
        rule: "a",
        keyType: "tenant|user",
        algorithm,
        cost: 2,
        shadow: false,
        isKnown: true,
        verdict: expect.objectContaining({ limit: 5, remaining: 3 }),
      },
      {
        rule: "b",
        keyType: "ip",
        algorithm,
        cost: 1,
        shadow: true,
        isKnown: true,
        verdict: expect.objectContaining({ limit: 5, remaining: 4 }),
      },
    ]);
    expect(JSON.stringify(results)).not.toContain("secret");
  });
});

describe("costs", () => {
  it("come from a number, the method, a header within bounds, or a function", () => {
    const limit = perMinute(100);
    const policy = policyOf(
      [
        { id: "constant", limit, cost: 2 },
        { id: "method", limit, cost: { methods: { POST: 5, GET: 1 }, otherwise: 9 } },
        { id: "header", limit, cost: { header: "x-cost", min: 1, max: 9, otherwise: 4 } },
        { id: "function", limit, cost: { function: "words" } },
      ],
      { costs: { words: ({ path }) => path.split("/").length } },
    );
    const used = (more: Partial<Facts>) => {
      admit(policy, more);
      const { results } = policy.peek(facts) as PolicyDecision;
      return results.map(({ verdict }) => 100 - verdict.remaining);
    };
    expect(used({ method: "post", path: "/a/b", headers: { "x-cost": "7" } })).toEqual([
      2, 5, 7, 3,
    ]);
    expect(used({ headers: { "x-cost": "5000" } })).toEqual([4, 6, 16, 5]);
    expect(used({ headers: { "x-cost": "-3" } })).toEqual([6, 7, 20, 7]);
    // What GET costs HEAD costs too.
    expect(used({ method: "HEAD" })).toEqual([8, 8, 24, 9]);
  });

  it("that a function gets wrong are an error of the request, and nothing is charged", () => {
    let cost: unknown = -1;
    const policy = policyOf(
      [
        { id: "a", limit: perMinute(5) },
        { id: "b", key: "user", limit: perMinute(5), cost: { function: "f" } },
      ],
      {
        costs: {
          f: () => {
            if (cost === "throw") throw new Error("mine");
            return cost as number;
          },
        },
      },
    );
    const user = { ...facts, user: "42" };
    for (cost of [-1, 0.5, Number.NaN, "2", undefined, "throw"]) {
      expect(() => policy.admit(user)).toThrow();
      expect(() => policy.admit(facts, { identify: () => user })).toThrow();
    }
    cost = 1;
    const { results } = policy.peek(user) as PolicyDecision;
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([5, 5]);
  });

  it("by a function that was not given are an error at load that names rule and functions", () => {
    const rules = [{ id: "llm", limit: perMinute(5), cost: { function: "tokens" } }];
    expect(() => policyOf(rules)).toThrow(/rule "llm": cost\.function "tokens".*known: none/);
    const policy = policyOf([], { costs: { words: () => 1 } });
    expect(() => policy.replace({ version: 1, rules })).toThrow(/known: words/);
  });
});

describe("identify", () => {
  it("takes its time, and what is charged after it is charged at that time", () => {
    const clock = new ManualClock(59_000);
    const policy = policyOf([{ id: "a", key: "user", limit: perMinute(1) }], { clock });
    const identify = () => {
      clock.advance(2_000);
      return { ...facts, user: "42" };
    };
    expect(admit(policy, { user: "42" }).allowed).toBe(true);
    // Begun in the first minute and charged in the second.
    expect(policy.admit(facts, { identify })).toMatchObject({ allowed: true, resetMs: 59_000 });
  });

  const rules = [
    { id: "ip", limit: perMinute(3) },
    { id: "user", key: "user", match: { path: "/api/*" }, limit: perMinute(2) },
  ];

  it("is asked only if a rule may need it, and only after the others admitted", () => {
    const policy = policyOf(rules);
    let asked = 0;
    const identify = () => {
      asked++;
      return { ...facts, path: "/api/x", user: "42" };
    };
    policy.admit({ ...facts, path: "/other" }, { identify });
    expect(asked).toBe(0);
    for (let i = 0; i < 2; i++) policy.admit({ ...facts, path: "/api/x" }, { identify });
    expect(asked).toBe(2);
    policy.admit({ ...facts, path: "/api/x" }, { identify });
    expect(asked).toBe(2);
  });

  it("refunds the first rules when a later one refuses", () => {
    const policy = policyOf(rules);
    const known = { ...facts, path: "/api/x", user: "42" };
    const decide = () =>
      policy.admit({ ...facts, path: "/api/x" }, { identify: () => known }) as PolicyDecision;
    const answers = [1, 2, 3, 4, 5].map(decide);
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false, false, false]);
    expect(answers[2]).toMatchObject({ rule: "user" });
    // What was refunded has changed since its verdict: it is not shown.
    expect(answers[2].results.map(({ isKnown }) => isKnown)).toEqual([false, true]);
    expect(countPassing(policy)).toBe(1);
  });

  it("that throws or rejects charges nothing, and its error is the caller's", async () => {
    const policy = policyOf(rules);
    const error = new Error("bad token");
    const throwing = () => {
      throw error;
    };
    const request = { ...facts, path: "/api/x" };
    expect(() => policy.admit(request, { identify: throwing })).toThrow(error);
    await expect(policy.admit(request, { identify: () => Promise.reject(error) })).rejects.toBe(
      error,
    );
    expect(countPassing(policy)).toBe(3);
  });

  it("that finds no caller leaves the early charges to a refusal for lack of identity", () => {
    const policy = policyOf([rules[0], { ...rules[1], onMissing: "refuse" }]);
    const request = { ...facts, path: "/api/x" };
    const refused = policy.admit(request, { identify: () => request }) as PolicyDecision;
    expect(refused).toMatchObject({ allowed: false, reason: "identity", rule: "user" });
    expect(countPassing(policy)).toBe(3);
  });
});

describe("options of a policy", () => {
  it("are refused with what was seen", () => {
    const rules = { version: 1, rules: [] };
    const bad: [object, RegExp][] = [
      [{}, /rules is missing; it must be what parseRules made or takes/],
      [{ rules, store: {} }, /store must be a store/],
      [{ rules, stoer: 1 }, /unknown option "stoer"/],
      [{ rules, onStoreFailure: "maybe" }, /onStoreFailure must be one of/],
      [{ rules, timeoutMs: 0 }, /timeoutMs must be/],
      [{ rules, costs: { a: 3 } }, /costs\.a must be a function, got 3/],
      [{ rules, seesResponses: "no" }, /seesResponses must be true or false/],
      [{ rules, onEvent: {} }, /onEvent must be a function/],
      [{ rules, onDecision: 1 }, /onDecision must be a function/],
      [{ rules, clock: 1 }, /clock must have/],
    ];
    for (const [options, message] of bad) {
      expect(() => createPolicy(options as PolicyOptions)).toThrow(message);
    }
  });

  it("take rules as a string, as an object and parsed", () => {
    const text = "version: 1\nrules: [{ id: a, limit: 3/minute }]";
    const fromText = createPolicy({ rules: text });
    const fromRules = createPolicy({ rules: fromText.rules });
    expect(fromRules.version).toBe(fromText.version);
  });
});

describe("onDecision", () => {
  it("sees each decision with the facts that it was made by, and can't break it", () => {
    const seen: unknown[] = [];
    const policy = policyOf([{ id: "a", key: "user", limit: perMinute(1) }], {
      onDecision: (decision, { user }) => {
        seen.push([decision.allowed, user]);
        throw new Error("mine");
      },
    });
    for (let i = 0; i < 2; i++) {
      policy.admit(facts, { identify: () => ({ ...facts, user: "42" }) });
    }
    policy.peek({ ...facts, user: "42" });
    expect(seen).toEqual([
      [true, "42"],
      [false, "42"],
    ]);
  });
});

describe("the memory of a policy's store", () => {
  it("is set aside for the rules in force, before a request and after a replacement", () => {
    const store = memoryStore({ keysMax: 1_000 });
    const policy = policyOf([{ id: "a", limit: perMinute(1) }], { store });
    const first = store.stats.bytes;
    policy.admit(facts);
    expect([first > 0, store.stats.bytes]).toEqual([true, first]);
    policy.replace({ version: 1, rules: [{ id: "b", limit: "5/day" }] });
    const second = store.stats.bytes;
    policy.admit(facts);
    expect([second > first, store.stats.bytes]).toEqual([true, second]);
  });
});

describe("needsIdentity", () => {
  it("says whether a rule in force counts by more than a request shows", () => {
    const policy = policyOf([{ id: "a", limit: perMinute(1) }]);
    expect(policy.needsIdentity).toBe(false);
    policy.replace({ version: 1, rules: [{ id: "a", key: "user", limit: "5/minute" }] });
    expect(policy.needsIdentity).toBe(true);
    policy.disable("a");
    expect(policy.needsIdentity).toBe(false);
  });
});

describe("close", () => {
  it("ends every verb, closes its own store and never one that it was given", async () => {
    const store = memoryStore();
    const policy = policyOf([{ id: "a", limit: perMinute(1) }], { store });
    const own = policyOf([{ id: "a", limit: perMinute(1) }]);
    await Promise.all([policy.close(), policy.close(), own.close()]);
    for (const verb of [
      () => policy.admit(facts),
      () => policy.peek(facts),
      () => policy.state(facts),
      () => policy.explain(facts),
      () => policy.replace({ version: 1, rules: [] }),
      () => policy.disable(),
      () => policy.block("a", "ip:192.0.2.1", 1),
    ]) {
      expect(verb).toThrow(/closed/);
    }
    expect(() => store.stats).not.toThrow();
    expect(policyOf([{ id: "a", limit: perMinute(1) }], { store }).admit(facts)).toMatchObject({
      allowed: true,
    });
  });
});
