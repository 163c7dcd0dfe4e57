// The whole numbers with which limits are decided, derived once from what the user wrote. Units
// are chosen so that nothing has to be rounded; what cannot be counted exactly is refused.

import { TIME_MS_MAX } from "../base/clock.js";
import { show } from "../base/errors.js";
import { type OptionSite, refuse } from "../base/shapes/code-options.js";
import { gcd, toFraction } from "./whole-numbers.js";

/** The longest window, permit or refill interval: a leap year, in milliseconds. */
export const WINDOW_MS_MAX: number = 366 * 24 * 60 * 60 * 1000;
/** The largest number of units that a limit can hold. */
export const UNITS_MAX: number = 2 ** 51;

/** What every limit has. */
export interface LimitNumbers {
  /** The units available when nothing is in use: what `Decision.limit` shows. */
  readonly capacity: number;
  /** How long a fully used limit takes to recover. Memory forgets only among its like. */
  readonly recoveryMs: number;
}

/**
 * The numbers of a token or leaky bucket in ticks: the unit in which both a millisecond and a
 * token are whole. Debt is what must still flow back; a bucket in debt by `fullTicks` is empty.
 */
export interface BucketNumbers extends LimitNumbers {
  readonly ticksPerMs: number;
  readonly ticksPerUnit: number;
  readonly fullTicks: number;
  /** Debt beyond this is not remembered: only commits far above a reservation come near it. */
  readonly debtTicksMax: number;
  /** Whether the instant of being full again, in ticks since 1970, fits one double. */
  readonly compact: boolean;
}

/** The numbers of everything that counts in numbered windows. */
export interface WindowNumbers extends LimitNumbers {
  /** Counts beyond this are not remembered: only commits far above a reservation come near it. */
  readonly usedMax: number;
  /** A power of two for which `window × span + used` is exact in one double; 0 if there is none. */
  readonly span: number;
}

/** A rate of `amount` units every `everyMs`, both whole. */
export interface ExactRate {
  readonly amount: number;
  readonly everyMs: number;
}

/** Reads a rate per second as the simplest fraction that is that number. */
export function toRate(site: OptionSite, field: string, perSecond: unknown): ExactRate {
  if (typeof perSecond !== "number" || !(perSecond > 0 && perSecond < Number.POSITIVE_INFINITY)) {
    refuse(site, `${field} must be a positive number, got ${show(perSecond)}`);
  }
  const fraction = toFraction(perSecond);
  const everyMs = (fraction?.denominator ?? Number.NaN) * 1000;
  if (fraction === undefined || fraction.numerator > UNITS_MAX || everyMs > UNITS_MAX) {
    refuse(site, `${field} can't be counted exactly, got ${show(perSecond)}`);
  }
  return Object.freeze({ amount: fraction.numerator, everyMs });
}

/** The numbers of a bucket of `units` that flows at `rate`. */
export function bucketNumbers(site: OptionSite, units: number, rate: ExactRate): BucketNumbers {
  const divisor = gcd(rate.amount, rate.everyMs);
  const ticksPerMs = rate.amount / divisor;
  const ticksPerUnit = rate.everyMs / divisor;
  const fullTicks = units * ticksPerUnit;
  if (fullTicks > UNITS_MAX) {
    const most = Math.floor(UNITS_MAX / ticksPerUnit);
    const seen = `${units} units at ${rate.amount} per ${rate.everyMs} ms`;
    refuse(site, `at most ${most} units can be counted exactly at this rate, got ${seen}`);
  }
  const spareTicks = Number.MAX_SAFE_INTEGER - (TIME_MS_MAX + 1) * ticksPerMs;
  const compact = spareTicks >= 2 * fullTicks;
  // With room for one more charge on top, so that even a retry time out of debt is exact.
  const debtTicksMax = compact
    ? Math.min(spareTicks, Number.MAX_SAFE_INTEGER - fullTicks)
    : 2 * UNITS_MAX;
  const recoveryMs = Math.ceil(fullTicks / ticksPerMs);
  return {
    capacity: units,
    recoveryMs,
    ticksPerMs,
    ticksPerUnit,
    fullTicks,
    debtTicksMax,
    compact,
  };
}

/** The numbers of `limit` units in windows that are numbered from 0 to at most `windows`. */
export function windowNumbers(limit: number, windows: number): Omit<WindowNumbers, "recoveryMs"> {
  // Two windows to spare: one for the shift of a key, one for the last window itself.
  const span = 2 ** Math.floor(Math.log2(Number.MAX_SAFE_INTEGER / (windows + 2)));
  return span > 2 * limit
    ? { capacity: limit, usedMax: span - 1, span }
    : { capacity: limit, usedMax: 2 * UNITS_MAX, span: 0 };
}
