// What the constructors accept, what they derive, and what they refuse with which words.

import { describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "./limits.js";

const DAY_MS = 86_400_000;

describe("constructors of limits", () => {
  it("count a bucket in ticks in which a token and a millisecond are whole", () => {
    expect(tokenBucket({ capacity: 5, refillPerSecond: 10 })).toMatchObject({
      ticksPerMs: 1,
      ticksPerUnit: 100,
      fullTicks: 500,
      recoveryMs: 500,
    });
    const perMinute = tokenBucket({ capacity: 5, refill: { amount: 100, everyMs: 60_000 } });
    expect(perMinute).toMatchObject({ ticksPerMs: 1, ticksPerUnit: 600 });
    expect(tokenBucket({ capacity: 5, refillPerSecond: 100 / 60 })).toMatchObject({
      ticksPerMs: perMinute.ticksPerMs,
      ticksPerUnit: perMinute.ticksPerUnit,
    });
  });

  it.each([
    ["one in 30 days", tokenBucket({ capacity: 1, refill: { amount: 1, everyMs: 30 * DAY_MS } })],
    ["a million a second", tokenBucket({ capacity: 1_000_000, refillPerSecond: 1_000_000 })],
    ["100,000 a day", tokenBucket({ capacity: 100_000, refillPerSecond: 100_000 / 86_400 })],
    ["one in 30 days, per second", tokenBucket({ capacity: 9, refillPerSecond: 1 / 2_592_000 })],
  ])("fit %s into one double", (_name, limit) => {
    expect(limit.compact).toBe(true);
    const latestTicks = (Date.UTC(2101, 0, 1) - 1) * limit.ticksPerMs + limit.debtTicksMax;
    expect(latestTicks).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
  });

  it.each([
    ["a million a second", fixedWindow({ limit: 1_000_000, windowMs: 1000 })],
    ["a thousand a millisecond", fixedWindow({ limit: 1000, windowMs: 1 })],
    ["a billion a year", fixedWindow({ limit: 1_000_000_000, windowMs: 365 * DAY_MS })],
    ["ten billion a month", quota({ limit: 10_000_000_000, period: "month" })],
  ])("pack %s and its window into one double", (_name, limit) => {
    expect(limit.span).toBeGreaterThan(2 * limit.capacity);
    expect(limit.usedMax).toBe(limit.span - 1);
  });

  it("let one more leave now than wait", () => {
    expect(leakyBucket({ ratePerSecond: 10, queueSize: 4 })).toMatchObject({
      capacity: 5,
      mode: "shape",
    });
    expect(leakyBucket({ ratePerSecond: 10, queueSize: 0, mode: "meter" }).capacity).toBe(1);
  });

  it("make frozen values", () => {
    expect(Object.isFrozen(slidingWindowLog({ limit: 1, windowMs: 1 }))).toBe(true);
    expect(Object.isFrozen(tokenBucket({ capacity: 1, refillPerSecond: 1 }).refill)).toBe(true);
  });

  const wrong: [string, () => unknown, string][] = [
    [
      "capacity as text",
      () => tokenBucket({ capacity: "ten" as never, refillPerSecond: 1 }),
      'capacity must be a whole number from 1 to 2251799813685248, got "ten"',
    ],
    ["capacity 0", () => tokenBucket({ capacity: 0, refillPerSecond: 1 }), "got 0"],
    ["capacity 1.5", () => tokenBucket({ capacity: 1.5, refillPerSecond: 1 }), "got 1.5"],
    [
      "rate 0",
      () => tokenBucket({ capacity: 1, refillPerSecond: 0 }),
      "refillPerSecond must be a positive number, got 0",
    ],
    ["rate NaN", () => tokenBucket({ capacity: 1, refillPerSecond: Number.NaN }), "got NaN"],
    [
      "rate Infinity",
      () => leakyBucket({ ratePerSecond: Number.POSITIVE_INFINITY, queueSize: 1 }),
      "got Infinity",
    ],
    [
      "no rate",
      () => tokenBucket({ capacity: 1 } as never),
      "needs either refillPerSecond or refill",
    ],
    [
      "two rates",
      () =>
        tokenBucket({
          capacity: 1,
          refillPerSecond: 1,
          refill: { amount: 1, everyMs: 1 },
        } as never),
      "needs either",
    ],
    [
      "refill amount 0",
      () => tokenBucket({ capacity: 1, refill: { amount: 0, everyMs: 1 } }),
      "tokenBucket: refill.amount",
    ],
    [
      "a bucket too large for its rate",
      () => tokenBucket({ capacity: 10_000_000, refill: { amount: 1, everyMs: 30 * DAY_MS } }),
      "at most 868749 units can be counted exactly at this rate",
    ],
    [
      "a tiny rate",
      () => tokenBucket({ capacity: 1, refillPerSecond: 5e-324 }),
      "can't be counted exactly",
    ],
    ["queueSize -1", () => leakyBucket({ ratePerSecond: 1, queueSize: -1 }), "queueSize"],
    [
      "mode",
      () => leakyBucket({ ratePerSecond: 1, queueSize: 1, mode: "wait" as never }),
      'mode must be one of shape, meter, got "wait"',
    ],
    ["windowMs 0", () => fixedWindow({ limit: 1, windowMs: 0 }), "windowMs"],
    [
      "windowMs of two years",
      () => fixedWindow({ limit: 1, windowMs: 2 * 366 * DAY_MS }),
      "windowMs",
    ],
    ["windowMs 0.4", () => slidingWindowCounter({ limit: 1, windowMs: 0.4 }), "windowMs"],
    [
      "align",
      () => fixedWindow({ limit: 1, windowMs: 1, align: "user" as never }),
      "align must be one of epoch, key, first",
    ],
    ["limit 2^53", () => slidingWindowLog({ limit: 2 ** 53, windowMs: 1 }), "limit"],
    [
      "permitMs missing",
      () => concurrency({ limit: 1 } as never),
      "permitMs is missing; it must be a whole number from 1 to 31622400000",
    ],
    ["period", () => quota({ limit: 1, period: "year" as never }), '"year"'],
    ["time zone", () => quota({ limit: 1, period: "day", timeZone: "Mars/Base" }), '"Mars/Base"'],
    ["anchor", () => quota({ limit: 1, period: "month", anchor: 32 }), "32"],
    [
      "a misspelt option",
      () => quota({ limit: 1, period: "day", timezone: "Europe/Paris" } as never),
      'unknown option "timezone", did you mean timeZone? known: limit, period, timeZone, anchor',
    ],
    ["align null", () => fixedWindow({ limit: 1, windowMs: 1, align: null as never }), "got null"],
    [
      "no options",
      () => tokenBucket(undefined as never),
      "needs an object of options, got undefined",
    ],
    ["an array", () => fixedWindow([1, 2] as never), "needs an object of options, got [1,2]"],
  ];

  it.each(wrong)("refuse %s and say what was seen", (_name, make, words) => {
    expect(make).toThrow(expect.objectContaining({ code: "SLUICE_LIMIT_INVALID" }));
    expect(make).toThrow(words);
  });
});
