import { describe, expect, it } from "vitest";
import { systemRandom, toRetry } from "./retry-after.js";

describe("the wait in a refusal", () => {
  //  decided  chance  shownMs  seconds
  it.each([
    [1_500, 0, 1_500, 2],
    [1_500, 500, 2_000, 2],
    [1_500, 501, 2_001, 3],
    [0, 0, 1, 1],
    [Number.POSITIVE_INFINITY, 501, Number.POSITIVE_INFINITY, undefined],
  ])("of %d ms with %d by chance is %d ms", (decidedMs, chance, shownMs, seconds) => {
    const retry = toRetry(decidedMs, { jitterMsMax: 1_000, random: () => chance });
    expect(retry).toEqual({ decidedMs, shownMs, seconds });
  });

  it("asks chance for at most the jitter, and for nothing where there is none", () => {
    const asked: number[] = [];
    const random = (max: number) => {
      asked.push(max);
      return max;
    };
    expect(toRetry(10, { jitterMsMax: 1_000, random }).shownMs).toBe(1_010);
    expect(toRetry(10, { jitterMsMax: 0, random }).shownMs).toBe(10);
    expect(asked).toEqual([1_000]);
  });

  it("has chances from 0 to the most there may be, both included", () => {
    const seen = new Set(Array.from({ length: 500 }, () => systemRandom(2)));
    expect([...seen].sort()).toEqual([0, 1, 2]);
  });
});
