import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { shareOfLimit, shareUnits } from "./region-shares.js";

const weightsOf = (weights: Record<string, number>) => new Map(Object.entries(weights));
const THREE = weightsOf({ eu: 1, us: 1, ap: 1 });

describe("the units of regions", () => {
  it("add up to the limit and differ from the exact part by less than one, whatever the weights", () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 32 });
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 2 ** 51 }), (list, units) => {
        const byName = new Map(list.map((weight, i) => [`region-${i}`, weight]));
        const shares = shareUnits(units, byName);
        const total = list.reduce((sum, weight) => sum + BigInt(weight), 0n);
        let sum = 0;
        for (const [name, share] of shares) {
          const exact = BigInt(units) * BigInt(byName.get(name) as number);
          const difference = BigInt(share) * total - exact;
          expect(difference < total && difference > -total).toBe(true);
          sum += share;
        }
        expect(shares.size).toBe(list.length);
        expect(sum).toBe(units);
      }),
    );
  });

  it("don't depend on the order in which regions are written", () => {
    const other = weightsOf({ us: 1, ap: 1, eu: 1 });
    expect(Object.fromEntries(shareUnits(100, THREE))).toEqual({ ap: 34, eu: 33, us: 33 });
    expect(Object.fromEntries(shareUnits(100, other))).toEqual({ ap: 34, eu: 33, us: 33 });
  });

  it("follow the weights", () => {
    const shares = shareUnits(10, weightsOf({ eu: 6, us: 3, ap: 1 }));
    expect(Object.fromEntries(shares)).toEqual({ eu: 6, us: 3, ap: 1 });
  });
});

describe("the share of a limit", () => {
  it("has exactly its part of the rate of a token bucket", () => {
    const whole = tokenBucket({ capacity: 100, refill: { amount: 10, everyMs: 1_000 } });
    const shares = ["eu", "us", "ap"].map((name) => shareOfLimit(whole, THREE, name));
    for (const share of shares) {
      expect(share).toMatchObject({ refill: { amount: 10, everyMs: 3_000 } });
    }
    const weights = weightsOf({ eu: 6, us: 3, ap: 1 });
    expect(shareOfLimit(whole, weights, "us")).toMatchObject({
      capacity: 30,
      refill: { amount: 3, everyMs: 1_000 },
    });
  });

  it("keeps windows, periods and modes", () => {
    const us = (limit: Parameters<typeof shareOfLimit>[0]) => shareOfLimit(limit, THREE, "us");
    expect(us(fixedWindow({ limit: 10, windowMs: 7_000, align: "key" }))).toMatchObject({
      capacity: 3,
      windowMs: 7_000,
      align: "key",
    });
    expect(us(slidingWindowLog({ limit: 9, windowMs: 50 }))).toMatchObject({ capacity: 3 });
    expect(us(quota({ limit: 5, period: "month" }))).toMatchObject({ capacity: 1 });
    expect(us(leakyBucket({ ratePerSecond: 9, queueSize: 8, mode: "meter" }))).toMatchObject({
      capacity: 3,
      ratePerSecond: 3,
      mode: "meter",
    });
  });

  it("is the limit itself where there is one region", () => {
    const whole = fixedWindow({ limit: 10, windowMs: 7_000 });
    expect(shareOfLimit(whole, weightsOf({ eu: 5 }), "eu")).toEqual(whole);
  });

  it("of no units is an error that names the region", () => {
    const small = fixedWindow({ limit: 2, windowMs: 1_000 });
    expect(() => shareOfLimit(small, THREE, "us")).toThrow(
      "2 units of a fixedWindow leave none for the region us",
    );
  });
});
