// Limits drawn by chance: small ones that traces run into often, awkward rates, and the largest
// and longest that are promised to be exact.

import { UNITS_MAX } from "../../algorithms/numbers.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import type { SeededRandom } from "./random.js";

const UNITS = [1, 2, 3, 5, 10, 100, 1_000_000];
const UNITS_HUGE = 2 ** 50;
const WINDOWS_MS = [1, 7, 1000, 60_000, 3_600_000, 86_400_000, 2_592_000_000, 31_536_000_000];
const RATES_PER_SECOND = [0.1, 1 / 3, 1, 3, 7, 10, 1000, 1_000_000];
const TIME_ZONES = ["UTC", "America/New_York", "Europe/Paris", "Asia/Kolkata"];

/** Algorithms that any store may hold. A sketch is counted in memory only, and not exactly. */
export type DrawnAlgorithm = Exclude<Limit["algorithm"], "sketch">;

/** How a limit of each algorithm is drawn. */
export const drawLimit: Readonly<Record<DrawnAlgorithm, (random: SeededRandom) => Limit>> = {
  tokenBucket: (random) => {
    if (random.chance(0.5)) {
      const refillPerSecond = random.pick(RATES_PER_SECOND);
      return tokenBucket({ capacity: random.pick(UNITS), refillPerSecond });
    }
    const amount = random.between(1, 20);
    const everyMs = random.chance(0.5) ? random.pick(WINDOWS_MS) : random.between(1, 10_000);
    // A million tokens at one in a year are refused: they can't be counted exactly.
    const units = UNITS.filter((unit) => unit * everyMs <= UNITS_MAX);
    return tokenBucket({ capacity: random.pick(units), refill: { amount, everyMs } });
  },
  leakyBucket: (random) =>
    leakyBucket({
      ratePerSecond: random.pick(RATES_PER_SECOND),
      queueSize: random.pick([0, 1, 2, 5, 20]),
      mode: random.pick(["shape", "meter"]),
    }),
  fixedWindow: (random) =>
    fixedWindow({ ...drawWindow(random), align: random.pick(["epoch", "key", "first"]) }),
  slidingWindowCounter: (random) => slidingWindowCounter(drawWindow(random)),
  slidingWindowLog: (random) =>
    slidingWindowLog({ limit: random.pick(UNITS), windowMs: random.pick(WINDOWS_MS) }),
  concurrency: (random) =>
    concurrency({ limit: random.pick(UNITS), permitMs: random.pick(WINDOWS_MS) }),
  quota: (random) =>
    quota({
      limit: random.pick(UNITS),
      period: random.pick(["day", "week", "month"]),
      timeZone: random.pick(TIME_ZONES),
      // A day of the month, a weekday and an hour alike.
      anchor: random.between(1, 7),
    }),
};

function drawWindow(random: SeededRandom): { limit: number; windowMs: number } {
  const limit = random.chance(0.1) ? UNITS_HUGE - random.between(0, 9) : random.pick(UNITS);
  return { limit, windowMs: random.pick(WINDOWS_MS) };
}
