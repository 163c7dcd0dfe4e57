import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { createPolicy } from "../create-policy.js";

const RULES = {
  version: 1,
  rules: [
    {
      id: "two",
      key: "user",
      limit: [
        { fixedWindow: { limit: 2, windowMs: 1_000 } },
        { fixedWindow: { limit: 9, windowMs: 60_000 } },
      ],
    },
    {
      id: "watch",
      key: "ip",
      onExceed: "shadow",
      limit: { fixedWindow: { limit: 1, windowMs: 1_000 } },
    },
  ],
};

describe("the charges of a decision", () => {
  it("are shown with their keys in the order of the rules, and nowhere else", async () => {
    const policy = createPolicy({ rules: RULES });
    const facts = { method: "GET", path: "/", user: "secretly-ann", ip: "203.0.113.9" };
    const decision = await policy.admit(facts);
    const seen: unknown[] = [];
    decision.eachCharge(({ id }, { key, units, shadow, verdict }) => {
      seen.push([id, key, units, shadow, verdict.limit]);
    });
    expect(seen).toEqual([
      ["two", "user:secretly-ann", 1, false, 2],
      ["two", "user:secretly-ann", 1, false, 9],
      ["watch", "ip:203.0.113.9", 1, true, 1],
    ]);
    expect(JSON.stringify([decision, decision.results])).not.toContain("secretly-ann");
  });
});

describe("the figures of a policy", () => {
  it("show what leases, syncs and known refusals did over a shared store", async () => {
    const limit = { fixedWindow: { limit: 1_000, windowMs: 60_000 } };
    const consistencies = ["strict", "leased", "eventual"];
    const rules = consistencies.map((consistency) => ({ id: consistency, consistency, limit }));
    const clock = new ManualClock(0);
    const policy = createPolicy({ rules: { version: 1, rules }, store: new RemoteStore(), clock });
    const facts = { method: "GET", path: "/", ip: "203.0.113.9" };
    for (let i = 0; i < 50; i++) await policy.admit(facts);
    const { leased, eventual, denyCache } = policy.stats;
    expect(leased?.unitsLeased).toBeGreaterThan(0);
    expect(eventual?.pendingKeys).toBe(1);
    expect(denyCache?.hits).toBe(0);
    await policy.close();
  });

  it("are none over a store in this process", () => {
    const none = { leased: undefined, eventual: undefined, denyCache: undefined };
    expect(createPolicy({ rules: RULES }).stats).toEqual(none);
  });
});

describe("the switches of a policy", () => {
  it("are reported as operators left them", () => {
    const policy = createPolicy({ rules: RULES });
    expect(policy.switches).toEqual({ all: "on", rules: [] });
    policy.disable("two");
    policy.disable();
    expect(policy.switches).toEqual({ all: "off", rules: [{ rule: "two", state: "off" }] });
    policy.enable();
    policy.enable("two");
    expect(policy.switches).toEqual({ all: "on", rules: [] });
  });
});
