// A request that says its cost itself, and one whose whole charge is held until it does.

import { describe, expect, it } from "vitest";
import { fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { createPolicy } from "../create-policy.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "42" };

function policyOf(seesResponses: boolean) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const rules = {
    version: 1,
    rules: [
      { id: "ip", key: "ip", limit: fixedWindow({ limit: 100, windowMs: 60_000 }), cost: 5 },
      { id: "user", key: "user", limit: tokenBucket({ capacity: 50, refillPerSecond: 1 }) },
    ],
  };
  return createPolicy({ rules, clock, seesResponses });
}

async function leftOf(policy: ReturnType<typeof policyOf>) {
  const { results } = await policy.peek(facts, { cost: 0 });
  return results.map(({ verdict }) => verdict.remaining);
}

describe("a cost that the request says", () => {
  it("counts under every rule instead of what the rules say", async () => {
    const policy = policyOf(false);
    await policy.admit(facts, { cost: 7 });
    expect(await leftOf(policy)).toEqual([93, 43]);
  });

  it("is what peek and explain ask about", async () => {
    const policy = policyOf(false);
    expect((await policy.peek(facts, { cost: 51 })).allowed).toBe(false);
    expect((await policy.peek(facts, { cost: 50 })).allowed).toBe(true);
    const { rule, rules } = await policy.explain(facts, { cost: 51 });
    expect(rule).toBe("user");
    expect(rules.map(({ limits }) => limits[0].cost)).toEqual([51, 51]);
  });

  it("is refused if it is not a whole number of units, and nothing is charged", async () => {
    const policy = policyOf(false);
    for (const cost of [-1, 0.5, Number.NaN]) {
      expect(() => policy.admit(facts, { cost })).toThrow("cost must be a whole number");
    }
    expect(await leftOf(policy)).toEqual([100, 50]);
  });
});

describe("a request that is held", () => {
  it("and sent again, its first answer being lost, is refunded by the second", async () => {
    const policy = policyOf(false);
    const options = { cost: 20, hold: true, requestId: "a" };
    await policy.admit(facts, options);
    const again = await policy.admit(facts, options);
    expect(await leftOf(policy)).toEqual([80, 30]);
    await again.cancel();
    expect(await leftOf(policy)).toEqual([100, 50]);
  });

  it.each([true, false])("refunds what it did not need (sees responses: %s)", async (sees) => {
    const policy = policyOf(sees);
    const decision = await policy.admit(facts, { cost: 20, hold: true });
    expect(decision.isHeld).toBe(true);
    expect(await leftOf(policy)).toEqual([80, 30]);
    await decision.finish({ cost: 8 });
    expect(await leftOf(policy)).toEqual([92, 42]);
    await decision.finish({ cost: 0 });
    expect(await leftOf(policy)).toEqual([92, 42]);
  });

  it("pays for what it needed beyond what it reserved", async () => {
    const policy = policyOf(false);
    const decision = await policy.admit(facts, { cost: 20, hold: true });
    await decision.finish({ cost: 45 });
    expect(await leftOf(policy)).toEqual([55, 5]);
  });

  it("keeps what it reserved if it does not say what it cost", async () => {
    const policy = policyOf(false);
    await (await policy.admit(facts, { cost: 20, hold: true })).finish();
    expect(await leftOf(policy)).toEqual([80, 30]);
  });

  it("refunds all of it when it is cancelled", async () => {
    const policy = policyOf(false);
    await (await policy.admit(facts, { cost: 20, hold: true })).cancel();
    expect(await leftOf(policy)).toEqual([100, 50]);
  });

  it("holds nothing if it was refused", async () => {
    const policy = policyOf(false);
    const decision = await policy.admit(facts, { cost: 60, hold: true });
    expect(decision.allowed).toBe(false);
    expect(decision.isHeld).toBe(false);
    expect(await leftOf(policy)).toEqual([100, 50]);
  });
});
