import { fixedWindow, tokenBucket } from "sluice";
import { describe, expect, it } from "vitest";
import { fairnessOf, recoveryMsOf } from "./measures.js";
import { Truth } from "./world/truth.js";

describe("fairness", () => {
  const limits = [fixedWindow({ limit: 10, windowMs: 1_000 })];
  /** Callers that asked 40 times in a second each, and were admitted this often. */
  const truthOf = (given: readonly number[]) => {
    const truth = new Truth(limits, given.length, 0);
    given.forEach((count, caller) => {
      for (let i = 0; i < 40; i++) truth.note(caller, i < count, { atMs: i, nowMs: i });
    });
    truth.end();
    return truth;
  };

  it("is 1 if all got what they were entitled to, and 1/n if one got everything", () => {
    expect(fairnessOf(truthOf([10, 10, 10, 10]), limits, 1_000)).toBe(1);
    expect(fairnessOf(truthOf([10, 0, 0, 0]), limits, 1_000)).toBe(0.25);
  });

  it("counts what a bucket refills in the time of the run", () => {
    const bucket = tokenBucket({ capacity: 5, refillPerSecond: 5 });
    expect(fairnessOf(truthOf([10, 10]), [bucket], 1_000)).toBe(1);
  });
});

describe("recovery", () => {
  const SECOND = 10;
  const sliceOf = (admitted: number) => ({ admitted, refused: 9, early: 0, excess: 0 });
  const recovery = (admitted: readonly number[], lastFaultMs: number, undisturbed = 100) =>
    recoveryMsOf({
      timeline: admitted.map(sliceOf),
      undisturbed: admitted.map(() => sliceOf(undisturbed)),
      lastFaultMs,
      durationMs: admitted.length * 100,
    });
  const slices = (count: number, admitted: number) => Array.from({ length: count }, () => admitted);

  it("is the time from the last fault until every second admits what it does without the faults", () => {
    const run = [...slices(SECOND, 100), ...slices(SECOND, 0), ...slices(2 * SECOND, 100)];
    expect(recovery(run, 1_500)).toBe(500);
    expect(recovery(run, 1_000)).toBe(1_000);
    expect(recovery(run, 2_000)).toBe(0);
  });

  it("does not count what the same run without faults does not admit either", () => {
    expect(recovery(slices(30, 40), 1_000, 40)).toBe(0);
  });

  it("is not reached if the last second still admits less, and not known if less than one is left", () => {
    const run = [...slices(SECOND, 100), ...slices(2 * SECOND, 90)];
    expect(recovery(run, 1_000)).toBe(Number.POSITIVE_INFINITY);
    expect(recovery(run, 2_001)).toBeUndefined();
  });
});
