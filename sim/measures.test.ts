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
  const good = { admitted: 99, refused: 1, early: 0, excess: 0 };
  const bad = { ...good, early: 20 };

  it("is the time from the last fault to the end of the last bad slice", () => {
    expect(recoveryMsOf([good, bad, bad, bad, good, good], [100, 250])).toBe(150);
    expect(recoveryMsOf([good, bad, good, good], [100, 250])).toBe(0);
    expect(recoveryMsOf([good, bad], [])).toBeUndefined();
  });

  it("compares with what was refused early before the first fault", () => {
    expect(recoveryMsOf([bad, bad, bad, bad], [200])).toBe(0);
  });
});
