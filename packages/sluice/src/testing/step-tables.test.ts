import { describe, expect, it } from "vitest";
import { algorithmOf } from "../algorithms/algorithms.js";
import { keyOffsetMs } from "../algorithms/fixed-window.js";
import { TIME_MS_MAX } from "../base/clock.js";
import { type StepCase, type StepRow, stepCases } from "./step-tables.js";

describe("the step tables", () => {
  it("have names that differ", () => {
    expect(new Set(stepCases.map(({ name }) => name)).size).toBe(stepCases.length);
  });

  it("cover every algorithm", () => {
    expect(new Set(stepCases.map(({ limit }) => limit.algorithm))).toEqual(
      new Set([
        "tokenBucket",
        "leakyBucket",
        "fixedWindow",
        "slidingWindowCounter",
        "slidingWindowLog",
        "concurrency",
        "quota",
      ]),
    );
  });

  it.each(stepCases)("$name: rows are well formed", ({ limit, steps }) => {
    let beforeMs = 0;
    for (const row of steps) {
      const [atMs, cost, allowed, remaining, retryAfterMs, resetMs, delayMs = 0] = row;
      expect(atMs).toBeGreaterThanOrEqual(beforeMs);
      expect(atMs).toBeLessThanOrEqual(TIME_MS_MAX);
      beforeMs = atMs;
      const whole = [atMs, cost, remaining, resetMs];
      expect(whole.every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
      expect(remaining).toBeLessThanOrEqual(limit.capacity);
      expect(retryAfterMs > 0).toBe(!allowed);
      expect(retryAfterMs === Number.POSITIVE_INFINITY).toBe(cost > limit.capacity);
      expect(delayMs).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("the pure functions", () => {
  it.each(stepCases)("$name", (stepCase) => {
    expect(answers(stepCase)).toEqual(stepCase.steps.map(filled));
  });
});

/** The rows of a case as the pure functions answer them. */
function answers({ limit, key, steps }: StepCase): StepRow[] {
  const algorithm = algorithmOf(limit);
  const isShifted = limit.algorithm === "fixedWindow" && limit.align === "key";
  const offsetMs = isShifted && key !== undefined ? keyOffsetMs(key, limit.windowMs) : 0;
  let state = algorithm.idle;
  return steps.map(([atMs, cost]) => {
    const step = algorithm.charge(state, limit, cost, atMs + offsetMs);
    state = step.state;
    const { allowed, remaining, retryAfterMs, resetMs, delayMs } = step;
    return [atMs, cost, allowed, remaining, retryAfterMs, resetMs, delayMs];
  });
}

function filled([atMs, cost, allowed, remaining, retryAfterMs, resetMs, delayMs]: StepRow) {
  return [atMs, cost, allowed, remaining, retryAfterMs, resetMs, delayMs ?? 0];
}
