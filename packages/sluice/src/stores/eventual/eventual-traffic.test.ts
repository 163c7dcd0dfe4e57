import { describe, expect, it } from "vitest";
import {
  fixedWindow,
  type Limit,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { memoryStore } from "../memory/memory-store.js";
import { eventual } from "./eventual.js";

const WARM_UP_MS = 1_000;
const MEASURED_MS = 10_000;

interface Traffic {
  readonly limit: Limit;
  readonly perSecond: number;
  /** Which part of it each process gets. */
  readonly shares: readonly number[];
  /** How much later than the one before each process starts: their syncs are as far apart. */
  readonly lagMs: number;
  readonly random?: SeededRandom;
}

/** What was admitted over what the limit admits, of 1,000 a second, after the warm-up. */
function admittedShare({ limit, perSecond, shares, lagMs, random }: Traffic): number {
  const clock = new ManualClock(Date.UTC(2024, 5, 1, 12));
  const inner = memoryStore({ keysMax: 1_000 });
  const nodes = shares.map(() => eventual(inner, { clock, keysMax: 1_000 }));
  const counter = { scope: "test", part: 0, limit };
  const owed = shares.map(() => 0);
  let admitted = 0;
  for (let ms = 0; ms < WARM_UP_MS + MEASURED_MS; ms++) {
    for (const [n, node] of nodes.entries()) {
      if (ms < n * lagMs) continue;
      owed[n] += (perSecond / 1_000) * shares[n] * (random ? 2 * random.fraction() : 1);
      for (; owed[n] >= 1; owed[n]--) {
        const { allowed } = node.decideOne(counter, "key", 1, clock.now());
        if (allowed && ms >= WARM_UP_MS) admitted++;
      }
    }
    clock.advance(1);
  }
  return admitted / MEASURED_MS;
}

const windowOf = { limit: 1_000, windowMs: 1_000 };
const bucket = tokenBucket({ capacity: 1_000, refillPerSecond: 1_000 });
const limits: [name: string, limit: Limit, bounds: { min: number; max: number }][] = [
  ["token bucket", bucket, { min: 0.98, max: 1.01 }],
  ["fixed window", fixedWindow(windowOf), { min: 0.99, max: 1.04 }],
  // The first request of a window is sent late, so the window of the store starts and ends late.
  [
    "fixed window from the first request",
    fixedWindow({ ...windowOf, align: "first" }),
    { min: 0.85, max: 1 },
  ],
  // What is sent late comes back late: a part of each window as long as an interval is not used.
  ["sliding counter", slidingWindowCounter(windowOf), { min: 0.88, max: 1 }],
  ["sliding log", slidingWindowLog(windowOf), { min: 0.93, max: 1.02 }],
];
const spreads: [spread: string, shares: number[]][] = [
  ["evenly", [0.25, 0.25, 0.25, 0.25]],
  ["unevenly", [0.7, 0.15, 0.1, 0.05]],
];
const cases = limits.flatMap(([name, limit, bounds]) =>
  spreads.flatMap(([spread, shares]) =>
    [2_000, 4_000].flatMap((perSecond) =>
      [0, 23].map((lagMs) => ({ name, limit, bounds, spread, shares, perSecond, lagMs })),
    ),
  ),
);

describe("four processes that share a limit of 1,000 a second", () => {
  it.each(cases)(
    "$name, $perSecond/s $spread spread, syncs $lagMs ms apart: within $bounds.max of it, and uses $bounds.min",
    (traffic) => {
      const share = admittedShare(traffic);
      expect(share).toBeLessThanOrEqual(traffic.bounds.max);
      expect(share).toBeGreaterThanOrEqual(traffic.bounds.min);
    },
  );

  it.each(limits)("%s, random traffic: within 5% of it", (name, limit) => {
    for (const [spread, shares] of spreads) {
      const random = new SeededRandom(`${name} ${spread}`);
      const share = admittedShare({ limit, shares, perSecond: 3_000, lagMs: 11, random });
      expect(share).toBeLessThanOrEqual(1.05);
      expect(share).toBeGreaterThanOrEqual(0.88);
    }
  });

  it("below the limit nothing is refused", () => {
    for (const [name, limit] of limits) {
      for (const [, shares] of spreads) {
        expect(admittedShare({ limit, shares, perSecond: 800, lagMs: 7 }), name).toBeCloseTo(
          0.8,
          2,
        );
      }
    }
  });
});
