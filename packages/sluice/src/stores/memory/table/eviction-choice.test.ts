// Limits that share a full table: what a flood under one of them does to the counters of the others.

import { describe, expect, it } from "vitest";
import { createLimiter } from "../../../limiter/limiter.js";
import type { Limiter } from "../../../limiter/limiter-verbs.js";
import { concurrency, fixedWindow, type Limit, slidingWindowLog } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type MemoryStore, memoryStore } from "../memory-store.js";

const HOUR_MS = 3_600_000;
const ONE_AN_HOUR = fixedWindow({ limit: 1, windowMs: HOUR_MS });
const TEN_AN_HOUR = fixedWindow({ limit: 10, windowMs: HOUR_MS });
const OFFENDERS = Array.from({ length: 200 }, (_, i) => `offender:${i}`);

/** Limiters by name over one store, with a fixed seed so that runs repeat. */
function share(keysMax: number, limits: Record<string, Limit>) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const seed = { low: 1, high: 2 };
  const store = memoryStore({ keysMax, permitsMax: 2 * keysMax, seed });
  const toLimiter = ([name, limit]: [string, Limit]) =>
    [name, createLimiter({ limit, store, clock, name })] as const;
  const limiters = Object.fromEntries(Object.entries(limits).map(toLimiter));
  return { clock, store, limiters };
}

function exhaust(limiter: Limiter, keys: readonly string[]): void {
  for (const key of keys) while (limiter.check(key).allowed);
}

function flood(limiter: Limiter, keys: number, name = "random"): void {
  for (let i = 0; i < keys; i++) limiter.check(`${name}:${i}`);
}

function refused(limiter: Limiter, keys: readonly string[]): number {
  return keys.filter((key) => !limiter.peek(key).allowed).length;
}

describe("a flood under one limit of a full table", () => {
  it.each([
    ["a limit of 1, offenders under 10", TEN_AN_HOUR, ONE_AN_HOUR],
    ["a limit of 10, offenders under 1", ONE_AN_HOUR, TEN_AN_HOUR],
    ["a limit of 1, offenders under the same numbers", ONE_AN_HOUR, ONE_AN_HOUR],
  ])("leaves all offenders of another refused: %s", (_name, a, b) => {
    const KEYS_MAX = 10_000;
    const { limiters } = share(KEYS_MAX, { a, b });
    exhaust(limiters.a, OFFENDERS);
    flood(limiters.b, 10 * KEYS_MAX);
    expect(refused(limiters.a, OFFENDERS)).toBe(OFFENDERS.length);
  });

  it("leaves all offenders refused in a table with a front, before and behind it", () => {
    const KEYS_MAX = 430_000;
    const { limiters } = share(KEYS_MAX, { a: TEN_AN_HOUR, b: ONE_AN_HOUR });
    exhaust(limiters.a, OFFENDERS.slice(0, 100));
    flood(limiters.b, KEYS_MAX / 2, "before");
    exhaust(limiters.a, OFFENDERS.slice(100));
    flood(limiters.b, 1.5 * KEYS_MAX);
    expect(refused(limiters.a, OFFENDERS)).toBe(OFFENDERS.length);
  });

  it("leaves all offenders refused that came when the table was full already", () => {
    const KEYS_MAX = 5_000;
    const { limiters } = share(KEYS_MAX, { a: ONE_AN_HOUR, b: ONE_AN_HOUR });
    flood(limiters.b, 2 * KEYS_MAX, "before");
    exhaust(limiters.a, OFFENDERS);
    flood(limiters.b, 10 * KEYS_MAX);
    expect(refused(limiters.a, OFFENDERS)).toBe(OFFENDERS.length);
  });

  it("leaves all offenders refused when several limits are flooded by turns", () => {
    const KEYS_MAX = 5_000;
    const names = ["b", "c", "d", "e"];
    const flooded = Object.fromEntries(names.map((name) => [name, ONE_AN_HOUR]));
    const { limiters } = share(KEYS_MAX, { a: TEN_AN_HOUR, ...flooded });
    exhaust(limiters.a, OFFENDERS);
    for (let i = 0; i < 10 * KEYS_MAX; i++) limiters[names[i % 4]].check(`random:${i}`);
    expect(refused(limiters.a, OFFENDERS)).toBe(OFFENDERS.length);
  });

  it("leaves every one of many limits what it has, up to its fair share", () => {
    const KEYS_MAX = 10_000;
    const names = Array.from({ length: 49 }, (_, i) => `quiet:${i}`);
    const quiet = Object.fromEntries(names.map((name) => [name, ONE_AN_HOUR]));
    const { limiters } = share(KEYS_MAX, { ...quiet, b: ONE_AN_HOUR });
    const keys = OFFENDERS.slice(0, 190);
    const refusedInAll = () => names.reduce((sum, name) => sum + refused(limiters[name], keys), 0);
    for (const name of names) exhaust(limiters[name], keys);
    const before = refusedInAll();
    // b soon has more keys than any other limit, and most of its keys find none that they may replace.
    flood(limiters.b, 10 * KEYS_MAX);
    expect(refusedInAll()).toBe(before);
    expect(before).toBeGreaterThan(0.999 * names.length * keys.length);
  });

  it.each([
    ["logs", slidingWindowLog({ limit: 1, windowMs: HOUR_MS })],
    ["permits", concurrency({ limit: 1, permitMs: HOUR_MS })],
  ])("keeps the entries of %s within what the table holds", (_name, limit) => {
    const KEYS_MAX = 1_000;
    const { store, limiters } = share(KEYS_MAX, { a: limit, b: limit });
    const take = (limiter: Limiter, key: string) =>
      limit.algorithm === "concurrency" ? limiter.acquire(key) : limiter.check(key);
    for (const key of OFFENDERS) take(limiters.a, key);
    for (let i = 0; i < 10 * KEYS_MAX; i++) take(limiters.b, `random:${i}`);
    for (const key of OFFENDERS) expect(take(limiters.a, key).allowed).toBe(false);
    // One more for a key that was admitted and found no slot.
    expect(store.stats.entries).toBeLessThanOrEqual(store.stats.keys + 1);
    expect(store.stats.arenaRefusals).toBe(0);
  });
});

describe("a limit that shares a full table", () => {
  it("still evicts those of its own keys first that have the smallest shares in use", () => {
    const KEYS_MAX = 5_000;
    const { limiters } = share(KEYS_MAX, { a: TEN_AN_HOUR, b: TEN_AN_HOUR });
    exhaust(limiters.b, OFFENDERS);
    flood(limiters.a, 1_000);
    flood(limiters.b, 10 * KEYS_MAX);
    expect(refused(limiters.b, OFFENDERS)).toBe(OFFENDERS.length);
  });

  it("gets its fair share back from one that took the whole table before", () => {
    const KEYS_MAX = 5_000;
    const { limiters } = share(KEYS_MAX, { a: ONE_AN_HOUR, b: ONE_AN_HOUR });
    flood(limiters.b, 10 * KEYS_MAX);
    const keys = Array.from({ length: KEYS_MAX / 2 }, (_, i) => `user:${i}`);
    exhaust(limiters.a, keys);
    expect(refused(limiters.a, keys)).toBeGreaterThan(0.99 * keys.length);
  });

  it("admits newcomers, remembers them, and holds keysMax keys at the most", () => {
    const KEYS_MAX = 1_000;
    const { store, limiters } = share(KEYS_MAX, { a: ONE_AN_HOUR, b: ONE_AN_HOUR });
    flood(limiters.b, 10 * KEYS_MAX);
    flood(limiters.a, 10 * KEYS_MAX);
    expect(limiters.a.check("newcomer").allowed).toBe(true);
    expect(limiters.a.check("newcomer").allowed).toBe(false);
    expect(store.stats.keys).toBe(KEYS_MAX);
  });

  it("leaves its slots to others once its keys are at rest", () => {
    const KEYS_MAX = 1_000;
    const { clock, store, limiters } = share(KEYS_MAX, { a: ONE_AN_HOUR, b: ONE_AN_HOUR });
    flood(limiters.a, KEYS_MAX);
    clock.advance(HOUR_MS);
    const { evictions } = store.stats;
    flood(limiters.b, KEYS_MAX / 2);
    expect(store.stats.evictions).toBe(evictions);
  });
});

describe("a key that finds no slot", () => {
  /** Fifty limits with their fair share each: most keys find none that they may replace. */
  function crowd(): { store: MemoryStore; limiter: Limiter } {
    const names = Array.from({ length: 50 }, (_, i) => `limit:${i}`);
    const limits = Object.fromEntries(names.map((name) => [name, TEN_AN_HOUR]));
    const { store, limiters } = share(1_000, limits);
    for (const name of names) for (let i = 0; i < 20; i++) exhaust(limiters[name], [`key:${i}`]);
    return { store, limiter: limiters["limit:0"] };
  }

  it("is admitted, can be settled and reset, and what it used is counted as evicted", () => {
    const { store, limiter } = crowd();
    const { usageEvicted } = store.stats;
    for (let i = 0; i < 100; i++) {
      const reservation = limiter.reserve(`new:${i}`, { cost: 5 });
      expect(reservation.allowed).toBe(true);
      reservation.commit(7);
      if (i % 3 === 0) limiter.reserve(`new:${i}`).cancel();
      if (i % 2 === 0) limiter.reset(`new:${i}`);
      limiter.refund(`new:${i}`);
    }
    expect(store.stats.keys).toBeLessThanOrEqual(1_000);
    expect(store.stats.usageEvicted).toBeGreaterThan(usageEvicted);
  });
});
