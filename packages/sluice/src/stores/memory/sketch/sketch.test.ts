// Sketches through the memory store: the verbs, windows, refunds and changed numbers. The seed of the hash is fixed
// where an answer depends on which keys share cells.

import { describe, expect, it } from "vitest";
import { createLimiter } from "../../../limiter/limiter.js";
import { fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { type SketchOptions, sketch } from "../../../limits/sketch.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Counter } from "../../store.js";
import { memoryStore } from "../memory-store.js";

const WINDOW_MS = 60_000;
const START_MS = 1_000 * WINDOW_MS;

function limiterOf(options: Partial<SketchOptions> = {}) {
  const clock = new ManualClock(START_MS);
  const store = memoryStore({ keysMax: 1_000, seed: { low: 1, high: 2 } });
  const limit = sketch({ limit: 10, windowMs: WINDOW_MS, ...options });
  return { clock, store, limiter: createLimiter({ limit, store, clock }) };
}

describe("a sketch", () => {
  it("admits its limit in a window, and the whole limit again in the next one", () => {
    const { clock, limiter } = limiterOf();
    for (let left = 9; left >= 0; left--) {
      expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: left });
    }
    clock.advance(WINDOW_MS - 1);
    expect(limiter.check("k")).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: 9, resetMs: WINDOW_MS });
  });

  it("refuses a cost that can never fit with no time to retry", () => {
    const { limiter } = limiterOf();
    const refused = limiter.check("k", { cost: 11 });
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY });
    expect(limiter.peek("k")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  it("charges nothing for what it refuses, and nothing for a peek", () => {
    const { limiter } = limiterOf();
    limiter.check("k", { cost: 8 });
    expect(limiter.check("k", { cost: 3 }).allowed).toBe(false);
    expect(limiter.peek("k", { cost: 2 }).allowed).toBe(true);
    expect(limiter.check("k", { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it.each([
    ["counted in the sketch", 0],
    ["with exact counters", 10_000],
  ])("keeps ten thousand keys apart, %s", (_, exactKeysMax) => {
    const { limiter } = limiterOf({ exactKeysMax, errorShare: 1e-5 });
    for (let i = 0; i < 10_000; i++) limiter.check(`key ${i}`);
    const left = Array.from({ length: 10_000 }, (_, i) => limiter.peek(`key ${i}`).remaining);
    expect(left.filter((units) => units === 9).length).toBeGreaterThan(9_900);
    expect(Math.max(...left)).toBe(9);
  });

  it("gives a heavy key its own counter long before its limit, which no later flood of others raises", () => {
    const { limiter } = limiterOf({ limit: 100, errorShare: 1e-2, exactKeysMax: 50 });
    limiter.check("heavy", { cost: 50 });
    for (let i = 0; i < 5_000; i++) limiter.check(`key ${i}`);
    // Keys without one share cells with the flood.
    expect(limiter.peek("never seen").remaining).toBeLessThan(100);
    expect(limiter.peek("heavy").remaining).toBe(50);
    expect(limiter.check("heavy", { cost: 50 }).allowed).toBe(true);
    expect(limiter.check("heavy").allowed).toBe(false);
  });

  it("is charged all or nothing together with other limits", () => {
    const clock = new ManualClock(START_MS);
    const limit = [
      sketch({ limit: 10, windowMs: WINDOW_MS }),
      tokenBucket({ capacity: 3, refillPerSecond: 1 }),
    ];
    const limiter = createLimiter({ limit, clock });
    expect(limiter.check("k", { cost: 3 })).toMatchObject({ allowed: true, remaining: 0 });
    for (let i = 0; i < 5; i++) expect(limiter.check("k").allowed).toBe(false);
    clock.advance(3_000);
    // Refused requests took nothing from the sketch: 7 are left.
    for (let i = 0; i < 7; i++) {
      expect(limiter.check("k").allowed).toBe(true);
      clock.advance(1_000);
    }
    expect(limiter.check("k").allowed).toBe(false);
  });

  it("refunds a cancelled reservation, and what a commit did not use", () => {
    const { limiter } = limiterOf();
    const reservation = limiter.reserve("k", { cost: 8 });
    expect(limiter.peek("k").remaining).toBe(2);
    reservation.commit(3);
    expect(limiter.peek("k").remaining).toBe(7);
    limiter.reserve("k", { cost: 7 }).cancel();
    expect(limiter.peek("k").remaining).toBe(7);
  });

  it("gives nothing back into a window that was not charged", () => {
    const { clock, limiter } = limiterOf();
    const reservation = limiter.reserve("k", { cost: 8 });
    clock.advance(WINDOW_MS);
    limiter.check("k", { cost: 5 });
    reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(5);
  });

  it("charges what a commit exceeds its reservation by, as debt", () => {
    const { limiter } = limiterOf();
    limiter.reserve("k", { cost: 8 }).commit(25);
    expect(limiter.check("k")).toMatchObject({ allowed: false, remaining: 0 });
    limiter.refund("k", 15);
    expect(limiter.check("k").allowed).toBe(false);
    limiter.refund("k", 1);
    expect(limiter.check("k").allowed).toBe(true);
  });

  it("can be refunded by an operator, up to what was used, and reset", () => {
    const { limiter } = limiterOf();
    limiter.check("k", { cost: 10 });
    limiter.refund("k", 4);
    expect(limiter.peek("k").remaining).toBe(4);
    limiter.refund("k", 100);
    expect(limiter.peek("k").remaining).toBe(10);
    limiter.check("k", { cost: 10 });
    limiter.reset("k");
    expect(limiter.check("k", { cost: 10 }).allowed).toBe(true);
  });

  it("leaves other keys alone when one is reset", () => {
    // One line of cells: every key shares cells with others.
    const { limiter } = limiterOf({ limit: 100, errorShare: 0.1, exactKeysMax: 100 });
    for (let i = 0; i < 100; i++) limiter.check(`key ${i}`, { cost: 5 });
    limiter.reset("key 0");
    for (let i = 1; i < 100; i++) {
      expect(limiter.peek(`key ${i}`).remaining).toBeLessThanOrEqual(95);
    }
  });

  it("refunds nothing without exact counters, rather than count another key too low", () => {
    const { limiter } = limiterOf({ exactKeysMax: 0 });
    limiter.reserve("k", { cost: 8 }).cancel();
    expect(limiter.peek("k").remaining).toBe(2);
    limiter.refund("k", 8);
    limiter.reset("k");
    expect(limiter.peek("k").remaining).toBe(2);
  });

  it("refuses a blocked key until the block ends", () => {
    const { clock, limiter } = limiterOf();
    limiter.block("k", 5_000);
    expect(limiter.check("k")).toMatchObject({ allowed: false, blockedMs: 5_000 });
    expect(limiter.check("other").allowed).toBe(true);
    clock.advance(5_000);
    expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: 9 });
  });

  it("counts a request that is sent twice with one id once", () => {
    const { limiter } = limiterOf();
    for (let i = 0; i < 3; i++) limiter.check("k", { cost: 4, requestId: "r" });
    expect(limiter.peek("k").remaining).toBe(6);
  });

  it("goes on counting when the clock steps back, until the next window", () => {
    const { clock, limiter } = limiterOf();
    limiter.check("k", { cost: 6 });
    clock.set(START_MS - 10 * WINDOW_MS);
    expect(limiter.check("k", { cost: 1 })).toMatchObject({ allowed: true, remaining: 3 });
    clock.advance(WINDOW_MS);
    expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: 9 });
  });

  it("counts a request of the window before, which comes late, in the current one", () => {
    const { limiter } = limiterOf();
    limiter.check("k", { cost: 6, nowMs: START_MS + WINDOW_MS });
    limiter.check("k", { cost: 1, nowMs: START_MS });
    expect(limiter.peek("k", { nowMs: START_MS + WINDOW_MS }).remaining).toBe(3);
  });

  it("starts each of more windows than a line can number with nothing used", () => {
    const { limiter } = limiterOf({ windowMs: 1, limit: 2, errorShare: 0.1 });
    for (let i = 0; i < 140_000; i++) {
      const nowMs = START_MS + i;
      if (limiter.check(`key ${i % 7}`, { cost: 2, nowMs }).allowed) continue;
      expect.unreachable(`window ${i}`);
    }
  });
});

describe("the numbers of a sketch", () => {
  const counterOf = (options: Partial<SketchOptions>): Counter => ({
    scope: "rule",
    part: 0,
    limit: sketch({ limit: 10, windowMs: WINDOW_MS, ...options }),
  });
  const left = (store: ReturnType<typeof memoryStore>, counter: Counter, nowMs = START_MS) =>
    store.peek([{ counter, key: "k", cost: 0, nowMs }])[0]?.remaining;

  it.each([
    ["a larger limit", { limit: 20 }, 13],
    ["a smaller limit", { limit: 8 }, 1],
    ["a limit below what was used", { limit: 5 }, 0],
    ["a limit that needs wider cells", { limit: 1_000 }, 993],
    ["another error", { errorShare: 1e-4 }, 3],
    ["longer windows", { windowMs: 2 * WINDOW_MS }, 3],
  ])("carry over what was used to %s", (_, changed, expected) => {
    const store = memoryStore();
    store.decideOne(counterOf({}), "k", 7, START_MS);
    const after = counterOf(changed);
    expect(left(store, after)).toBe(expected);
    if (expected > 0) store.decideOne(after, "k", 1, START_MS);
    expect(left(store, after)).toBe(Math.max(0, expected - 1));
    expect(left(store, after, START_MS + 2 * WINDOW_MS)).toBe(after.limit.capacity);
  });

  it("carry over there and back again within a window", () => {
    const store = memoryStore();
    store.decideOne(counterOf({}), "k", 3, START_MS);
    store.decideOne(counterOf({ errorShare: 1e-4 }), "k", 2, START_MS);
    const back = counterOf({});
    expect(left(store, back)).toBe(5);
    store.decideOne(back, "k", 4, START_MS);
    expect(left(store, back)).toBe(1);
    store.refund([{ counter: back, key: "k", cost: 6, nowMs: START_MS }]);
    expect(left(store, back)).toBe(7);
  });

  it("let go of the memory of sketches that no counter uses", () => {
    const store = memoryStore();
    for (let i = 0; i < 50; i++) {
      const counter = { ...counterOf({}), scope: `rule ${i}` };
      store.decideOne(counter, "k", 1, START_MS);
      store.forget(counter);
    }
    expect(store.stats.sketches.length).toBeLessThan(6);
  });
});

describe("the statistics of a sketch", () => {
  it("say whose it is, how much memory it takes, how full it is and how far off", () => {
    const { limiter, store } = limiterOf({ limit: 100, errorShare: 1e-3, exactKeysMax: 50 });
    const [before] = store.stats.sketches;
    expect(before).toMatchObject({ scope: "default", part: 0, fill: 0, units: 0, errorUnits: 0 });
    for (let i = 0; i < 49_950; i++) limiter.check(`key ${i}`);
    limiter.check("heavy", { cost: 50 });
    const [stats] = store.stats.sketches;
    expect(stats?.bytes).toBe(before?.bytes);
    expect(store.stats.bytes).toBe(stats?.bytes);
    expect(stats).toMatchObject({ units: 50_000, errorUnitsMax: 50 });
    expect(stats?.fill).toBeGreaterThan(0.9);
    expect(stats?.errorUnits).toBeGreaterThan(1);
    expect(stats?.errorUnits).toBeLessThan(50);
    expect(stats?.exactKeys).toBeGreaterThan(0);
  });
});

describe("a limiter over a store that others share", () => {
  it("refuses a sketch when it is made", () => {
    const shared = Object.assign(memoryStore(), { isRemote: true });
    const limit = sketch({ limit: 10, windowMs: WINDOW_MS });
    const make = () =>
      createLimiter({ limit: [fixedWindow({ limit: 1, windowMs: 1 }), limit], store: shared });
    expect(make).toThrow("createLimiter: limit is a sketch, which is counted in memory");
  });
});
