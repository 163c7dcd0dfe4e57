import { describe, expect, it } from "vitest";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { parseRules } from "../../parse/parse.js";
import type { CompiledRules } from "../compile/compile.js";
import { createPolicy } from "../create-policy.js";
import type { PolicyDecision } from "./policy-decision.js";
import { canPlan, RequestPlan } from "./request-plan.js";

const START_MS = Date.UTC(2026, 10, 17, 12);
const RULES = [
  { id: "all", key: "ip", limit: { tokenBucket: { capacity: 5, refillPerSecond: 3 } } },
  { id: "api", match: { path: "/api/*" }, key: "ip", limit: "20/minute" },
  {
    id: "shared",
    match: { path: "/api/reports" },
    key: "global",
    limit: { fixedWindow: { limit: 40, windowMs: "10s" } },
  },
];

function policyOf(rules: readonly object[], keysMax = 100_000) {
  const clock = new ManualClock(START_MS);
  const store = memoryStore({ keysMax, seed: { low: 1, high: 2 } });
  const policy = createPolicy({ rules: { version: 1, rules }, store, clock });
  return { clock, store, policy };
}

function planOf(rules: readonly object[], path = "/"): RequestPlan | undefined {
  const { policy } = policyOf(rules);
  return RequestPlan.of(policy.plainRules as CompiledRules, { method: "GET", path });
}

describe("a plan for requests", () => {
  it.each([
    ["few callers that come again", { callers: 8, keysMax: 100_000 }],
    ["callers that are evicted for new ones", { callers: 400, keysMax: 100 }],
  ])("answers %s as the policy does, refusals with the same rule, key and times", (_, fleet) => {
    const general = policyOf(RULES, fleet.keysMax);
    const planned = policyOf(RULES, fleet.keysMax);
    const paths = ["/", "/api/users", "/api/reports", "/other"];
    const plans = paths.map((path) =>
      RequestPlan.of(planned.policy.plainRules as CompiledRules, { method: "GET", path }),
    );
    let state = 1;
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    let refused = 0;
    for (let i = 0; i < 20_000; i++) {
      const at = next(paths.length);
      // Half of them come from the first few.
      const caller = next(next(2) === 0 ? 4 : fleet.callers);
      const ip = `203.0.${caller >> 8}.${caller & 255}`;
      general.clock.advance(next(40));
      const facts = { method: "GET", path: paths[at] as string, ip };
      const expected = general.policy.admit(facts) as PolicyDecision;
      const seen = plans[at]?.decide(planned.store.print(`ip:${ip}`), general.clock.now());
      expect(seen === undefined).toBe(expected.allowed);
      if (seen === undefined) continue;
      refused++;
      expect(seen.toJSON()).toEqual(expected.toJSON());
      expect(seen.charges.map(({ key }) => key)).toEqual(expected.charges.map(({ key }) => key));
    }
    expect(refused).toBeGreaterThan(1_000);
    expect(refused).toBeLessThan(19_000);
    expect(planned.store.stats).toEqual(general.store.stats);
    expect(planned.store.stats.evictions > 0).toBe(fleet.keysMax < fleet.callers);
  });

  it.each([
    ["a user", { key: "user" }],
    ["two dimensions", { key: ["ip", "endpoint"] }],
    ["shadow", { onExceed: "shadow" }],
    [
      "delays",
      {
        onExceed: "delay",
        delayMsMax: "1s",
        limit: { tokenBucket: { capacity: 1, refillPerSecond: 1 } },
      },
    ],
    ["responses", { when: { status: 401 } }],
    ["permits", { limit: { concurrency: { limit: 1, permitMs: "1s" } } }],
    ["two limits", { limit: ["1/second", "5/minute"] }],
    ["a rollout", { rollout: 50 }],
    ["exempt addresses", { exempt: { ips: ["10.0.0.0/8"] } }],
    ["escalation", { escalate: { after: "3 refusals in 1m", blocks: ["1m"] } }],
    ["calendars", { limit: { quota: { limit: 1, period: "day" } } }],
  ])("is not made for rules with %s", (_, changes) => {
    expect(planOf([{ id: "all", key: "ip", limit: "1/second" }])).toBeDefined();
    expect(planOf([{ id: "all", key: "ip", limit: "1/second", ...changes }])).toBeUndefined();
  });

  it("allows everything where no rule matches", () => {
    const plan = planOf([{ id: "api", match: { path: "/api" }, limit: "1/hour" }]);
    expect(plan?.rules).toEqual([]);
    const caller = memoryStore().print("ip:203.0.113.7");
    for (let i = 0; i < 3; i++) expect(plan?.decide(caller, START_MS)).toBeUndefined();
  });

  it("needs rules that look at method and path alone", () => {
    const canPlanOf = (match: object) =>
      canPlan(parseRules({ version: 1, rules: [{ id: "a", match, limit: "1/second" }] }));
    expect(canPlanOf({ path: "/a", methods: "POST" })).toBe(true);
    for (const match of [
      { host: "a.example" },
      { headers: { "x-a": true } },
      { attributes: { a: "1" } },
      { ips: ["10.0.0.0/8"] },
      { asn: 64500 },
      { country: "DE" },
      { fingerprint: "a" },
    ])
      expect(canPlanOf(match)).toBe(false);
  });
});
