// The default clock: monotonic for rates, wall time that never goes back for calendars.

import { afterEach, describe, expect, it, vi } from "vitest";
import { createLimiter } from "../limiter/limiter.js";
import type { Limiter } from "../limiter/limiter-verbs.js";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../limits/limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { countedMsOf, systemClock, TIME_MS_MAX, toWholeMs, wallMsOf } from "./clock.js";

const STEPS_MS = [-3_600_000, 3_600_000, -86_400_000 * 365, 86_400_000 * 365];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("systemClock", () => {
  it("starts at the wall clock and counts whole milliseconds", () => {
    const nowMs = systemClock.now();
    expect(Number.isInteger(nowMs)).toBe(true);
    expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
  });

  it.each([
    tokenBucket({ capacity: 1, refillPerSecond: 0.001 }),
    leakyBucket({ ratePerSecond: 0.001, queueSize: 0 }),
    fixedWindow({ limit: 1, windowMs: 365 * 86_400_000 }),
    slidingWindowCounter({ limit: 1, windowMs: 365 * 86_400_000 }),
    slidingWindowLog({ limit: 1, windowMs: 3_600_000 }),
  ])("changes no decision when the wall clock steps back or forth: $algorithm", (limit) => {
    const limiter = createLimiter({ limit });
    limiter.check("k");
    const before = limiter.check("k");
    const realMs = Date.now();
    for (const stepMs of STEPS_MS) {
      vi.spyOn(Date, "now").mockReturnValue(realMs + stepMs);
      const decision = limiter.check("k");
      expect(decision.allowed).toBe(false);
      expect(Math.abs(decision.retryAfterMs - before.retryAfterMs)).toBeLessThan(60_000);
    }
  });

  it("runs permits and blocks on time that does not step, under a quota too", () => {
    const permits = createLimiter({ limit: concurrency({ limit: 1, permitMs: 3_600_000 }) });
    const blocks = createLimiter({ limit: quota({ limit: 5, period: "month" }) });
    permits.acquire("k");
    blocks.block("k", 3_600_000);
    const realMs = Date.now();
    for (const stepMs of STEPS_MS) {
      vi.spyOn(Date, "now").mockReturnValue(realMs + stepMs);
      expect(permits.acquire("k").allowed).toBe(false);
      expect(blocks.check("k").allowed).toBe(false);
      expect(blocks.peek("k").allowed).toBe(false);
    }
  });

  it("follows the wall clock into the next calendar period, and never back", () => {
    const limiter = createLimiter({ limit: quota({ limit: 2, period: "day" }) });
    // Other tests have moved the wall clock forward, and it never goes back.
    const todayMs = systemClock.wall?.() ?? 0;
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
  it("rounds down and refuses what is not a time", () => {
    expect(toWholeMs(1.9)).toBe(1);
    expect(toWholeMs(TIME_MS_MAX)).toBe(TIME_MS_MAX);
    for (const bad of [-1, Number.NaN, TIME_MS_MAX + 1, Number.POSITIVE_INFINITY, "1", undefined]) {
      expect(() => toWholeMs(bad as number)).toThrow(
        expect.objectContaining({ code: "SLUICE_TIME_INVALID" }),
      );
    }
  });
});

describe("the wall clock", () => {
  const stepped = { now: () => 5.5, wall: () => 1_000.9 };

  it("is now where a clock has none of its own, in whole milliseconds", () => {
    expect([wallMsOf(stepped), wallMsOf({ now: () => 5.5 })]).toEqual([1_000, 5]);
    expect(() => wallMsOf({ now: () => 0, wall: () => Number.NaN })).toThrow(/got NaN/);
  });

  it("counts quotas and nothing else", () => {
    expect([countedMsOf(stepped, true), countedMsOf(stepped, false)]).toEqual([1_000, 5]);
  });
});

describe("ManualClock", () => {
  it("moves only when asked to", () => {
    const clock = new ManualClock(5);
    expect(clock.now()).toBe(5);
    clock.advance(10);
    expect(clock.now()).toBe(15);
    clock.set(3);
    expect(clock.now()).toBe(3);
  });
});

describe("the time of a burst of decisions", () => {
  const BURST = 1_000;

  /** A limiter, and time that stands still until it is moved. */
  function standStill() {
    let elapsedMs = performance.now();
    const read = vi.spyOn(performance, "now").mockImplementation(() => elapsedMs);
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 1000 });
    const limiter = createLimiter({ limit });
    const advance = (ms: number) => {
      elapsedMs += ms;
    };
    return { limiter, read, advance };
  }

  async function startBurst(limiter: Limiter): Promise<void> {
    await Promise.resolve();
    for (let i = 0; i < BURST; i++) limiter.check(`random:${i}`);
  }

  it("is read for at least every sixteenth of them, and for few more", async () => {
    const { limiter, read } = standStill();
    await startBurst(limiter);
    expect(read.mock.calls.length).toBeGreaterThanOrEqual(BURST / 16);
    expect(read.mock.calls.length).toBeLessThan(BURST / 16 + 40);
  });

  it("is at most fifteen decisions old in synchronous code, and never ahead", async () => {
    const { limiter, advance } = standStill();
    await startBurst(limiter);
    limiter.check("k");
    advance(1);
    const refusals = Array.from({ length: 16 }, () => limiter.check("k")).findIndex(
      (d) => d.allowed,
    );
    expect(refusals).toBeGreaterThanOrEqual(0);
  });

  it("is never older than the callback or microtask that asks", async () => {
    const { limiter, advance } = standStill();
    for (const nextPiece of [() => Promise.resolve(), () => new Promise(setImmediate)]) {
      await startBurst(limiter);
      limiter.check("k");
      advance(1);
      await nextPiece();
      expect(limiter.check("k").allowed).toBe(true);
    }
  });

  it("is never behind what another verb has read", async () => {
    const { limiter, advance } = standStill();
    await startBurst(limiter);
    limiter.check("k");
    advance(1);
    expect(limiter.peek("k").allowed).toBe(true);
    expect(limiter.check("k").allowed).toBe(true);
  });

  it("is read for each decision below 32 of a millisecond", async () => {
    const { limiter, read, advance } = standStill();
    await Promise.resolve();
    for (let i = 0; i < BURST; i++) {
      if (i % 30 === 0) advance(1);
      limiter.check(`random:${i}`);
    }
    expect(read).toHaveBeenCalledTimes(BURST);
  });

  it("is read for each decision of a clock that was passed", () => {
    const now = vi.fn(() => 1_000_000);
    const limiter = createLimiter({
      limit: tokenBucket({ capacity: 1, refillPerSecond: 1 }),
      clock: { now },
    });
    for (let i = 0; i < BURST; i++) limiter.check(`random:${i}`);
    expect(now).toHaveBeenCalledTimes(BURST);
  });
});
