// One limit of each kind, all of ten units that do not come back within a second: claims that hold
// for every algorithm are checked on each of them.

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
import type { AlgorithmName, Claim, Stand } from "./claim.js";

/** Makes a limit of this many units, all of the same kind. */
export type LimitMaker = (units: number) => Limit;

const HOUR_MS = 3_600_000;

/** Limits that `check` charges. */
export const rateLimits: Readonly<Record<string, LimitMaker>> = {
  "token bucket": (units) =>
    tokenBucket({ capacity: units, refill: { amount: 1, everyMs: HOUR_MS } }),
  "leaky bucket that shapes": (units) =>
    leakyBucket({ ratePerSecond: 1 / 3600, queueSize: units - 1 }),
  "leaky bucket that meters": (units) =>
    leakyBucket({ ratePerSecond: 1 / 3600, queueSize: units - 1, mode: "meter" }),
  "fixed window": (units) => fixedWindow({ limit: units, windowMs: HOUR_MS }),
  "fixed window aligned by key": (units) =>
    fixedWindow({ limit: units, windowMs: 366 * 24 * HOUR_MS, align: "key" }),
  "fixed window that starts with the first request": (units) =>
    fixedWindow({ limit: units, windowMs: HOUR_MS, align: "first" }),
  "sliding window counter": (units) => slidingWindowCounter({ limit: units, windowMs: HOUR_MS }),
  "sliding window log": (units) => slidingWindowLog({ limit: units, windowMs: HOUR_MS }),
  "calendar quota": (units) => quota({ limit: units, period: "month" }),
};

/** Limits that `acquire` charges. */
export const permitLimits: Readonly<Record<string, LimitMaker>> = {
  "concurrency limit": (units) => concurrency({ limit: units, permitMs: HOUR_MS }),
};

/** Every kind of limit. */
export const allLimits: Readonly<Record<string, LimitMaker>> = { ...rateLimits, ...permitLimits };

/** The limit, or, if a store does not hold its algorithm, one of as many units that the store does hold. */
export function toHeld(limit: Limit, algorithms: ReadonlySet<AlgorithmName>): Limit {
  if (algorithms.has(limit.algorithm)) return limit;
  const [make] = heldBy(algorithms, allLimits);
  return make(limit.capacity);
}

/** The kinds of limits that a store holds; at least one, if `kinds` are all there are. */
export function heldBy(
  algorithms: ReadonlySet<AlgorithmName>,
  kinds: Readonly<Record<string, LimitMaker>>,
): readonly LimitMaker[] {
  return Object.values(kinds).filter((make) => algorithms.has(make(1).algorithm));
}

/** One claim for each kind of limit; `make` of the check makes limits of that kind. */
export function forEachKind(
  kinds: Readonly<Record<string, LimitMaker>>,
  group: string,
  title: string,
  check: (stand: Stand, make: LimitMaker) => Promise<void>,
): Claim[] {
  return Object.entries(kinds).map(([kind, make]) => ({
    group,
    title: `${title} (${kind})`,
    about: [make(1).algorithm],
    check: (stand) => check(stand, make),
  }));
}
