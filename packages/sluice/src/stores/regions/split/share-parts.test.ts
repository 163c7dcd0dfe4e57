import { describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../../limits/limits.js";
import { keptParts, memoryMs, PARTS, sharesByParts } from "./share-parts.js";

describe("the shares of a limit", () => {
  it.each([
    fixedWindow({ limit: 997, windowMs: 60_000 }),
    tokenBucket({ capacity: 997, refill: { amount: 7, everyMs: 1_300 } }),
    leakyBucket({ ratePerSecond: 10, queueSize: 499, mode: "meter" }),
    slidingWindowLog({ limit: 200, windowMs: 1_000 }),
    concurrency({ limit: 200, permitMs: 30_000 }),
  ])("of a $algorithm never add up to more than it has, whatever its parts", (limit) => {
    const shares = sharesByParts(limit, 3) ?? new Map();
    for (let parts = 3; parts <= PARTS - 3; parts++) {
      const units = shares.get(parts).capacity + shares.get(PARTS - parts).capacity;
      expect(units).toBeLessThanOrEqual(limit.capacity);
      expect(units).toBeGreaterThanOrEqual(limit.capacity - 1);
    }
    expect(shares.get(PARTS)).toBe(limit);
  });

  it("have exactly their part of a rate", () => {
    const limit = tokenBucket({ capacity: 1_000, refill: { amount: 10, everyMs: 1_000 } });
    expect(sharesByParts(limit, 3)?.get(37)).toMatchObject({
      capacity: 370,
      refill: { amount: 370, everyMs: 100_000 },
    });
  });

  it("are not learned if the smallest would have fewer than five units, or counters remember too long", () => {
    expect(sharesByParts(fixedWindow({ limit: 166, windowMs: 1_000 }), 3)).toBeUndefined();
    expect(sharesByParts(fixedWindow({ limit: 167, windowMs: 1_000 }), 3)).toBeDefined();
    const hours = (count: number) => fixedWindow({ limit: 1_000, windowMs: count * 3_600_000 });
    expect(sharesByParts(hours(1), 3)).toBeDefined();
    expect(sharesByParts(hours(2), 3)).toBeUndefined();
    expect(sharesByParts(quota({ limit: 1_000, period: "day" }), 3)).toBeUndefined();
  });
});

it("leaves every region a tenth of its parts, at least one", () => {
  expect([33, 10, 4, 1].map(keptParts)).toEqual([3, 1, 1, 1]);
});

describe("until new counters are complete", () => {
  it("is the window, or two where the one before counts", () => {
    const change = { from: 50, to: 10 };
    expect(memoryMs(fixedWindow({ limit: 10, windowMs: 700 }), change)).toBe(700);
    expect(memoryMs(slidingWindowCounter({ limit: 10, windowMs: 700 }), change)).toBe(1_400);
  });

  it("is the time in which the new share of a bucket refills what was in use", () => {
    const bucket = tokenBucket({ capacity: 100, refillPerSecond: 10 });
    // 100 units at 5 a second are 20 s, and one unit more for rounding.
    expect(memoryMs(bucket, { from: 100, to: 50 })).toBe(20_200);
  });
});
