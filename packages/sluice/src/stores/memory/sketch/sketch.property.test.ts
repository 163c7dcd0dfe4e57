// What a sketch promises for every traffic: it never counts a key too low, and it counts too much within its declared
// error, with its declared confidence over seeds of the hash. An exact count of the same traffic is the reference.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLimiter } from "../../../limiter/limiter.js";
import { sketch } from "../../../limits/sketch.js";
import { memoryStore } from "../memory-store.js";

const WINDOW_MS = 1_000;
const START_MS = 1_000 * WINDOW_MS;
const KEYS = Array.from({ length: 40 }, (_, i) => `key ${i}`);

/** One act of a caller or an operator. */
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("check" as const), cost: cost(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("hold" as const), cost: cost(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("settle" as const), cost: cost(8) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("refund" as const), cost: cost(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const), cost: cost(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const), cost: cost(600) }) },
);

function cost(max: number) {
  return fc.integer({ min: 0, max });
}

describe("a sketch over any trace", () => {
  const setup = fc.record({
    seed: fc.record({ low: fc.integer(), high: fc.integer() }),
    limit: fc.constantFrom(1, 3, 20, 300, 70_000),
    // Down to a single line, and to a table of exact counters that is always full.
    errorShare: fc.constantFrom(0.1, 0.01, 1e-4),
    exactKeysMax: fc.constantFrom(0, 1, 5, 100),
    acts: fc.array(fc.tuple(fc.constantFrom(...KEYS), act), { maxLength: 300 }),
  });

  it("never counts a key below what it used, and never admits beyond the limit", () => {
    fc.assert(
      fc.property(setup, ({ seed, limit, errorShare, exactKeysMax, acts }) => {
        const store = memoryStore({ keysMax: 100, seed });
        const counted = sketch({ limit, windowMs: WINDOW_MS, errorShare, exactKeysMax });
        const limiter = createLimiter({ limit: counted, store });
        const used = new Map<string, number>();
        const held: { key: string; cost: number; window: number; commit(n: number): void }[] = [];
        let nowMs = START_MS;
        for (const [key, { kind, cost }] of acts) {
          const before = used.get(key) ?? 0;
          const window = Math.floor(nowMs / WINDOW_MS);
          if (kind === "check" && limiter.check(key, { cost, nowMs }).allowed) {
            expect(before + cost).toBeLessThanOrEqual(limit + (cost === 0 ? before : 0));
            used.set(key, before + cost);
          } else if (kind === "hold") {
            const reservation = limiter.reserve(key, { cost, nowMs });
            if (!reservation.allowed) continue;
            used.set(key, before + cost);
            held.push({ key, cost, window, commit: (n) => reservation.commit(n, { nowMs }) });
          } else if (kind === "settle") {
            const open = held.pop();
            if (open === undefined) continue;
            open.commit(cost);
            const own = used.get(open.key) ?? 0;
            if (cost > open.cost) used.set(open.key, own + cost - open.cost);
            // What was refunded to the key meanwhile may have paid for it: then less comes back.
            else if (open.window === window)
              used.set(open.key, Math.max(0, own - open.cost + cost));
          } else if (kind === "refund") {
            limiter.refund(key, cost, { nowMs });
            used.set(key, Math.max(0, before - cost));
          } else if (kind === "reset") {
            limiter.reset(key, { nowMs });
            used.set(key, 0);
          } else if (kind === "wait") {
            nowMs += cost;
            if (Math.floor(nowMs / WINDOW_MS) > window) used.clear();
          }
          for (const [each, units] of used) {
            const left = Math.max(0, limit - units);
            expect(limiter.peek(each, { nowMs }).remaining).toBeLessThanOrEqual(left);
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("the error of a sketch", () => {
  // Few lines and many keys, of which some are heavy: the worst traffic that its size was chosen for.
  const traffics: readonly [string, (i: number) => number][] = [
    ["keys that are all alike", () => 1],
    ["keys of which one in twenty is heavy", (i) => (i % 20 === 0 ? 100 : 1)],
    ["keys by Zipf's law", (i) => Math.max(1, Math.floor(2_000 / (i + 1)))],
  ];
  const promises = [
    { errorShare: 0.01, confidence: 0.9 },
    { errorShare: 0.003, confidence: 0.99 },
  ];

  it.each(
    traffics.flatMap(([name, unitsOf]) =>
      promises.map((promise) => ({ name, unitsOf, ...promise })),
    ),
  )(
    "is at most $errorShare of all units with confidence $confidence, for $name",
    ({ unitsOf, errorShare, confidence }) => {
      const KEYS_COUNT = 2_000;
      const SEEDS = 10;
      let beyond = 0;
      for (let seed = 0; seed < SEEDS; seed++) {
        const store = memoryStore({ keysMax: 1, seed: { low: 77 * seed, high: ~seed } });
        const limit = sketch({
          limit: 60_000,
          windowMs: WINDOW_MS,
          errorShare,
          confidence,
          exactKeysMax: 0,
        });
        const limiter = createLimiter({ limit, store });
        let units = 0;
        for (let i = 0; i < KEYS_COUNT; i++) {
          units += unitsOf(i);
          limiter.check(`key ${i}`, { cost: unitsOf(i), nowMs: START_MS });
        }
        for (let i = 0; i < KEYS_COUNT; i++) {
          const counted = 60_000 - limiter.peek(`key ${i}`, { nowMs: START_MS }).remaining;
          expect(counted).toBeGreaterThanOrEqual(unitsOf(i));
          if (counted - unitsOf(i) > errorShare * units) beyond++;
        }
      }
      expect(beyond / (KEYS_COUNT * SEEDS)).toBeLessThanOrEqual(1 - confidence);
    },
  );
});
