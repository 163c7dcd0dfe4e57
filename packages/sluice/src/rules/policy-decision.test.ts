import { describe, expect, it } from "vitest";
import { createPolicy } from "./policy.js";

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
