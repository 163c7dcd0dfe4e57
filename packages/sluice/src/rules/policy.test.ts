import { describe, expect, it } from "vitest";
import { fixedWindow, tokenBucket } from "../limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { parseRules } from "./parse.js";
import { createPolicy } from "./policy.js";
import type { PolicyDecision } from "./policy-decision.js";

const facts = { method: "GET", path: "/", ip: "203.0.113.10" };

describe("a policy over memory", () => {
  it("answers at once, and names the rule that bound", () => {
    const rules = parseRules({
      version: 1,
      rules: [
        { id: "burst", limit: tokenBucket({ capacity: 3, refillPerSecond: 1 }) },
        { id: "all", key: "global", limit: fixedWindow({ limit: 2, windowMs: 1000 }) },
      ],
    });
    const policy = createPolicy({ rules, clock: new ManualClock(0) });
    const decisions = [1, 2, 3].map(() => policy.admit(facts) as PolicyDecision);
    expect(decisions.map(({ allowed, rule, remaining }) => [allowed, rule, remaining])).toEqual([
      [true, "all", 1],
      [true, "all", 0],
      [false, "all", 0],
    ]);
    expect(decisions[2].results.map(({ verdict }) => verdict.remaining)).toEqual([1, 0]);
  });
});
