// Exact arithmetic against BigInt, at the sizes where doubles would round.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divideDown, divideUp, gcd, multiplyDivideUp, toFraction } from "./whole-numbers.js";

const RUNS = { numRuns: 20_000, seed: 1 };

describe("toFraction", () => {
  it.each([
    [0.1, 1, 10],
    [1 / 3, 1, 3],
    [100 / 60, 5, 3],
    [1 / 2_592_000, 1, 2_592_000],
    [1_000_000, 1_000_000, 1],
    [0.3333, 3333, 10_000],
    [0.1 + 0.2, 3, 10],
    [1.1 * 1.1, 121, 100],
    [5e-324, undefined, undefined],
  ])("reads %d as the simplest fraction", (value, numerator, denominator) => {
    const expected = numerator === undefined ? undefined : { numerator, denominator };
    expect(toFraction(value)).toEqual(expected);
  });

  it("finds a fraction within rounding error of any rate", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (value) => {
        const fraction = toFraction(value);
        if (fraction === undefined) throw new Error("no fraction");
        const error = Math.abs(fraction.numerator / fraction.denominator - value) / value;
        expect(error).toBeLessThanOrEqual(2 ** -49);
      }),
      RUNS,
    );
  });

  it("recovers every small fraction in lowest terms", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 99_999 }),
        fc.integer({ min: 1, max: 99_999 }),
        (p, q) => {
          const divisor = gcd(p, q);
          expect(toFraction(p / q)).toEqual({ numerator: p / divisor, denominator: q / divisor });
        },
      ),
      RUNS,
    );
  });
});

describe("multiplyDivideUp", () => {
  const YEAR_MS = 31_622_400_000;

  it("is exact for counts up to 2^52 and windows up to a year", () => {
    const count = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.bigInt(0n, 2n ** 52n).map(Number));
    const windowMs = fc.integer({ min: 1, max: YEAR_MS });
    fc.assert(
      fc.property(count, windowMs, fc.double({ min: 0, max: 1, noNaN: true }), (a, w, share) => {
        const b = Math.floor(w * share);
        const exact = (BigInt(a) * BigInt(b) + BigInt(w) - 1n) / BigInt(w);
        expect(BigInt(multiplyDivideUp(a, b, w))).toBe(exact);
      }),
      RUNS,
    );
  });
});

describe("divideUp and divideDown", () => {
  it("never round across a whole number", () => {
    const whole = fc.bigInt(0n, 2n ** 53n - 1n);
    fc.assert(
      fc.property(whole, fc.bigInt(1n, 2n ** 53n - 1n), (a, b) => {
        for (const x of [a, a - (a % b), a - (a % b) + b - 1n]) {
          if (x < 0n || x >= 2n ** 53n) continue;
          expect(BigInt(divideDown(Number(x), Number(b)))).toBe(x / b);
          expect(BigInt(divideUp(Number(x), Number(b)))).toBe((x + b - 1n) / b);
        }
      }),
      RUNS,
    );
  });
});
