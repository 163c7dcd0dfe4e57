// The default clock: monotonic for rates, wall time that never goes back for calendars.

import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock, TIME_MS_MAX, toWholeMs } from "./clock.js";
import { createLimiter } from "./limiter.js";
import { quota, tokenBucket } from "./limits.js";
import { ManualClock } from "./testing/manual-clock.js";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("systemClock", () => {
  it("starts at the wall clock and counts whole milliseconds", () => {
    const nowMs = systemClock.now();
    expect(Number.isInteger(nowMs)).toBe(true);
    expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
  });

  it("changes no decision when the wall clock steps back or forth", () => {
    const limiter = createLimiter({ limit: tokenBucket({ capacity: 1, refillPerSecond: 0.001 }) });
    limiter.check("k");
    const realMs = Date.now();
    for (const stepMs of [-3_600_000, 3_600_000, -86_400_000 * 365, 86_400_000 * 365]) {
      vi.spyOn(Date, "now").mockReturnValue(realMs + stepMs);
      const decision = limiter.check("k");
      expect(decision.allowed).toBe(false);
      expect(decision.retryAfterMs).toBeGreaterThan(900_000);
      expect(decision.retryAfterMs).toBeLessThanOrEqual(1_000_000);
    }
  });

  it("follows the wall clock into the next calendar period, and never back", () => {
    const limiter = createLimiter({ limit: quota({ limit: 2, period: "day" }) });
    const todayMs = Date.now();
    const day = vi.spyOn(Date, "now").mockReturnValue(todayMs + 3 * 86_400_000);
    limiter.check("k");
    limiter.check("k");
    day.mockReturnValue(todayMs);
    expect(limiter.check("k").allowed).toBe(false);
    day.mockReturnValue(todayMs + 4 * 86_400_000);
    expect(limiter.check("k").allowed).toBe(true);
  });
});

describe("toWholeMs", () => {
  it("rounds down and refuses what is no time", () => {
    expect(toWholeMs(1.9)).toBe(1);
    expect(toWholeMs(TIME_MS_MAX)).toBe(TIME_MS_MAX);
    for (const bad of [-1, Number.NaN, TIME_MS_MAX + 1, Number.POSITIVE_INFINITY, "1", undefined]) {
      expect(() => toWholeMs(bad as number)).toThrow(
        expect.objectContaining({ code: "SLUICE_TIME_INVALID" }),
      );
    }
  });
});

describe("ManualClock", () => {
  it("moves only when told", () => {
    const clock = new ManualClock(5);
    expect(clock.now()).toBe(5);
    clock.advance(10);
    expect(clock.now()).toBe(15);
    clock.set(3);
    expect(clock.now()).toBe(3);
  });
});
