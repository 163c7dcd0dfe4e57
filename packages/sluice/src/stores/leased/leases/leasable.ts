// Which limits can be leased, under which counter, and for how long. A lease is spent after it was
// debited, so it has to end where a later unit would count differently: with its window, or, for a
// log, while its entries still count for everything that may be spent out of them.

import { WINDOW_MS_MAX } from "../../../algorithms/numbers.js";
import type { Verdict } from "../../../base/decision.js";
import { SluiceError } from "../../../base/errors.js";
import { isShaper, type Limit, slidingWindowLog } from "../../../limits/limits.js";
import type { Counter } from "../../store.js";
import type { LeasedSettings } from "../lease-options.js";

/** A counter as the inner store is asked for it, and the longest life of its leases. */
export interface Leasable {
  readonly counter: Counter;
  /** 0: it is never leased. */
  readonly lifeMsMax: number;
}

/** What decides how a counter is leased. */
export type LeaseTerms = Pick<LeasedSettings, "leaseMs" | "logs">;

/** A log counts for a twentieth longer than its window at most, so that it refuses little earlier. */
const LOG_STRETCH_DIVISOR = 20;

/**
 * Whether budget of this limit can be taken ahead: not permits, not places in a queue, and nothing of a sketch, which no
 * other process sees.
 */
export function isLeasable(limit: Limit): boolean {
  return limit.algorithm !== "concurrency" && limit.algorithm !== "sketch" && !isShaper(limit);
}

/**
 * How a counter is leased; throws if it can't be. Units of a log may be spent up to `lifeMsMax` after
 * they were entered, so its entries count for that much longer than the window: for all charges,
 * since entries of one list have one length.
 */
export function toLeasable(counter: Counter, { leaseMs, logs }: LeaseTerms): Leasable {
  const { limit, scope, part } = counter;
  if (!isLeasable(limit)) {
    const seen = `limit ${part} of "${scope}" is ${named(limit)}`;
    throw new SluiceError("SLUICE_NOT_LEASABLE", seen);
  }
  if (limit.algorithm !== "slidingWindowLog") return { counter, lifeMsMax: leaseMs };
  if (logs === "strict") return { counter, lifeMsMax: 0 };
  const { windowMs } = limit;
  const spareMs = Math.min(Math.floor(windowMs / LOG_STRETCH_DIVISOR), WINDOW_MS_MAX - windowMs);
  const lifeMsMax = Math.min(leaseMs, spareMs);
  if (lifeMsMax === 0) return { counter, lifeMsMax };
  const stretched = slidingWindowLog({ limit: limit.capacity, windowMs: windowMs + lifeMsMax });
  return { counter: Object.freeze({ ...counter, limit: stretched }), lifeMsMax };
}

/** How long budget that was just debited may be spent, counted from sending. */
export function lifeOf({ counter, lifeMsMax }: Leasable, verdict: Verdict): number {
  return Math.min(lifeMsMax, windowLeftMs(counter.limit, verdict));
}

/** Until the window that was charged ends; Infinity where there is none. */
function windowLeftMs(limit: Limit, { resetMs }: Verdict): number {
  switch (limit.algorithm) {
    case "fixedWindow":
    case "quota":
      return resetMs;
    case "slidingWindowCounter":
      // Of a count that is not zero: this window and the next one, in which it still weighs.
      return resetMs - limit.windowMs;
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/** Whether what is left of a window is worth nothing once it ends. */
export function endsForGood(limit: Limit): boolean {
  return limit.algorithm === "fixedWindow" || limit.algorithm === "quota";
}

function named(limit: Limit): string {
  return limit.algorithm === "leakyBucket"
    ? `leakyBucket in mode "${limit.mode}"`
    : limit.algorithm;
}
