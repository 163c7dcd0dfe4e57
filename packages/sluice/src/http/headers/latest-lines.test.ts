import { describe, expect, it } from "vitest";
import { LatestLines } from "./latest-lines.js";
import type { LimitTexts } from "./limit.js";

const texts = { name: "r" } as LimitTexts;

describe("the latest lines", () => {
  it("are found by all that they say, and by nothing less", () => {
    const latest = new LatestLines();
    expect(latest.find(texts, 7, 60, 1_000)).toBeUndefined();
    latest.keep(texts, 7, 60, 1_000, "seven");
    expect(latest.find(texts, 7, 60, 1_000)).toBe("seven");
    expect(latest.find(texts, 7 + 256, 60, 1_000)).toBeUndefined();
    expect(latest.find(texts, 7, 59, 1_000)).toBeUndefined();
    expect(latest.find(texts, 7, 60, 1_001)).toBeUndefined();
    expect(latest.find({ ...texts }, 7, 60, 1_000)).toBeUndefined();
  });

  it("take the place of older ones, for numbers of any size", () => {
    const latest = new LatestLines();
    latest.keep(texts, 3, 60, 0, "few");
    latest.keep(texts, 2 ** 40 + 3, 60, 0, "many");
    expect(latest.find(texts, 3, 60, 0)).toBeUndefined();
    expect(latest.find(texts, 2 ** 40 + 3, 60, 0)).toBe("many");
  });
});
