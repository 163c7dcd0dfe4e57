// Strings of answers: what was said before never shows in what is said next.

import fc from "fast-check";
import type { Decision } from "sluice";
import type { PolicyDecision } from "sluice/rules";
import { expect, it } from "vitest";
import { toDecisionJson, toPolicyDecisionJson } from "./decision-json.js";

const few = fc.constantFrom(0, 1, 2, Number.POSITIVE_INFINITY);
const decision: fc.Arbitrary<Decision> = fc.record({
  allowed: fc.boolean(),
  limit: few,
  remaining: few,
  retryAfterMs: few,
  resetMs: few,
  delayMs: fc.constantFrom(0, 1),
  source: fc.constantFrom("memory", "store"),
});
const id = fc.option(fc.constantFrom("a", "b"), { nil: undefined });
const binding = fc.record({
  rule: fc.constantFrom("one", "two", undefined),
  reason: fc.constantFrom("limit", "store", undefined),
});

/** What JSON says of a value, Infinity and undefined included. */
function asSent(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

it("an answer says its decision, whatever the one before said", () => {
  const runs = fc.property(fc.array(fc.tuple(decision, id)), (list) => {
    for (const [said, held] of [...list, ...list.flatMap((one) => [one, one])]) {
      expect(JSON.parse(toDecisionJson(said, held))).toEqual(asSent({ ...said, id: held }));
    }
  });
  fc.assert(runs);
});

it("and so does one under rules", () => {
  const runs = fc.property(fc.array(fc.tuple(decision, binding, id)), (list) => {
    for (const [said, bound, held] of [...list, ...list.flatMap((one) => [one, one])]) {
      const decided = { ...said, ...bound } as PolicyDecision;
      const text = toPolicyDecisionJson(decided, { hasResults: false, id: held });
      expect(JSON.parse(text)).toEqual(asSent({ ...decided, id: held }));
    }
  });
  fc.assert(runs);
});
