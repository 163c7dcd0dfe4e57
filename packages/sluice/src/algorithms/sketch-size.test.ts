// The sizes of sketches against the classical bound, and the moments that they are derived from.

import { describe, expect, it } from "vitest";
import { CELLS_PER_LINE, poissonMoment, sketchBytes, sketchSizeFor } from "./sketch-size.js";

describe("the moments of a Poisson distribution", () => {
  it.each([
    [1, 3, 3],
    [2, 3, 12],
    [3, 2, 22],
    [4, 1, 15],
    [5, 1, 52],
  ])("of order %d with the mean %d is %d", (order, mean, moment) => {
    expect(poissonMoment(order, mean)).toBeCloseTo(moment, 9);
  });

  it("is the sum over the distribution", () => {
    let sum = 0;
    let probability = Math.exp(-2.5);
    for (let k = 0; k < 60; k++) {
      sum += probability * k ** 4;
      probability *= 2.5 / (k + 1);
    }
    expect(poissonMoment(4, 2.5)).toBeCloseTo(sum, 8);
  });
});

describe("the size of a sketch", () => {
  const size = (errorShare: number, confidence: number, limit = 100) =>
    sketchSizeFor({ limit, errorShare, confidence });

  it.each([
    [1e-2, 0.9],
    [1e-4, 0.95],
    [1e-6, 0.99],
    [1e-5, 0.9999],
  ])(
    "keeps its promise, and one line less would not: error %d, confidence %d",
    (errorShare, confidence) => {
      const { lines, rows } = size(errorShare, confidence);
      const chance = (count: number) =>
        poissonMoment(rows, 1 / (errorShare * count)) / Math.floor(CELLS_PER_LINE / rows) ** rows;
      expect(chance(lines)).toBeLessThanOrEqual(1 - confidence + 1e-12);
      expect(chance(lines - 1)).toBeGreaterThan(1 - confidence);
    },
  );

  it("is within twice that of a sketch whose rows are independent", () => {
    for (const confidence of [0.9, 0.95, 0.99]) {
      const { lines } = size(1e-6, confidence);
      const classical = (Math.E / 1e-6) * Math.log(1 / (1 - confidence));
      expect(lines * CELLS_PER_LINE).toBeLessThan(2 * classical);
    }
  });

  it("has cells that are wide enough for the limit", () => {
    expect([1, 255, 256, 65_535, 65_536].map((limit) => size(1e-4, 0.9, limit).cellBits)).toEqual([
      8, 8, 16, 16, 32,
    ]);
  });

  it("is 64 cells a line", () => {
    expect(sketchBytes({ lines: 10, cellBits: 8 })).toBe(640);
    expect(sketchBytes({ lines: 10, cellBits: 32 })).toBe(2_560);
  });
});
