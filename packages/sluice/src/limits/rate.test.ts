import { describe, expect, it } from "vitest";
import { createLimiter } from "../limiter/limiter.js";
import type { LimiterOptions } from "../limiter/limiter-options.js";
import { ManualClock } from "../testing/manual-clock.js";
import { fixedWindow, slidingWindowCounter, slidingWindowLog } from "./limits.js";
import { parseRate, type Rate } from "./rate.js";

describe("a rate", () => {
  it.each([
    ["5/second", 5, 1_000],
    ["100/minute", 100, 60_000],
    ["100/hour", 100, 3_600_000],
    ["1/day", 1, 86_400_000],
    ["1/500ms", 1, 500],
    ["100/5m", 100, 300_000],
    ["10/7d", 10, 604_800_000],
  ] as const)("%s is a sliding window, exact up to 100 units", (rate, limit, windowMs) => {
    expect(parseRate(rate)).toEqual(slidingWindowLog({ limit, windowMs }));
  });

  it("of more than 100 units is counted by two counters", () => {
    expect(parseRate("101/minute")).toEqual(slidingWindowCounter({ limit: 101, windowMs: 60_000 }));
  });

  it.each([
    "",
    "5",
    "5/",
    "/minute",
    "5/min",
    "5 / minute",
    "0/minute",
    "1.5/minute",
    "-1/minute",
    "5/0s",
    "5/400d",
  ])("is not %o", (given) => {
    expect(parseRate(given)).toBeUndefined();
  });
});

describe("createLimiter with a rate", () => {
  const clock = new ManualClock();

  it("holds it", () => {
    const limiter = createLimiter({ limit: "2/minute", clock });
    expect(limiter.check("k")).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
    expect(limiter.check("k").allowed).toBe(true);
    expect(limiter.check("k")).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
  });

  it("takes rates and limits in one list", () => {
    const limiter = createLimiter({
      limit: ["3/minute", fixedWindow({ limit: 10, windowMs: 1_000 })],
      clock,
    });
    expect(limiter.check("k", { cost: 3 }).allowed).toBe(true);
    expect(limiter.check("k")).toMatchObject({ allowed: false, limit: 3 });
  });

  it("takes a rate that is made up at run time", () => {
    const rate: Rate = `${2 + 3}/10s`;
    expect(createLimiter({ limit: rate, clock }).peek("k").limit).toBe(5);
  });

  it.each([
    ["100/min", 'got "100/min"; did you mean "100/minute"?'],
    ["5 per minute", 'did you mean "5/minute"?'],
    ["5/10 minutes", 'did you mean "5/10m"?'],
    ["soon", 'a rate such as "100/minute", got "soon"'],
    [["5/minute", "5/mintue"], 'got "5/mintue"; did you mean "5/minute"?'],
  ])("refuses %o and says what was probably meant", (limit, words) => {
    const create = () => createLimiter({ limit } as unknown as LimiterOptions);
    expect(create).toThrow(expect.objectContaining({ code: "SLUICE_OPTION_INVALID" }));
    expect(create).toThrow(words);
  });

  it("has a type that refuses other forms", () => {
    // @ts-expect-error: the word is "minute".
    expect(() => createLimiter({ limit: "5/min" })).toThrow();
    // @ts-expect-error: a rate has a slash.
    expect(() => createLimiter({ limit: "5 per minute" })).toThrow();
  });
});
