// The constructors of limits. A limit is a frozen value: an algorithm, the numbers its user
// wrote, and the whole numbers derived from them with which it is decided exactly. Invalid
// limits are refused here, so that nothing behind it has to ask again.

import { type CalendarPeriod, toCalendar } from "../algorithms/calendar.js";
import { currentPeriod } from "../algorithms/fixed-window.js";
import type {
  ConcurrencyLimit,
  FixedWindowLimit,
  LeakyBucketLimit,
  Limit,
  QuotaLimit,
  SlidingWindowCounterLimit,
  SlidingWindowLogLimit,
  TokenBucketLimit,
} from "../algorithms/limit.js";
import {
  bucketNumbers,
  toRate,
  UNITS_MAX,
  WINDOW_MS_MAX,
  windowNumbers,
} from "../algorithms/numbers.js";
import { TIME_MS_MAX } from "../base/clock.js";
import { show } from "../base/errors.js";
import { type OptionSite, readOptions, refuse } from "../base/shapes/code-options.js";
import {
  anything,
  choice,
  flag,
  object,
  optional,
  positiveNumber,
  required,
  wholeNumber,
  withDefault,
} from "../base/shapes/shapes.js";

export type {
  BucketLimit,
  ConcurrencyLimit,
  EntryLimit,
  FixedWindowLimit,
  LeakyBucketLimit,
  Limit,
  QuotaLimit,
  SketchLimit,
  SlidingWindowCounterLimit,
  SlidingWindowLogLimit,
  TokenBucketLimit,
} from "../algorithms/limit.js";

const units = wholeNumber({ min: 1, max: UNITS_MAX });
const spanMs = wholeNumber({ min: 1, max: WINDOW_MS_MAX });

/** Options of {@link tokenBucket}: a capacity, and a rate in one of two forms. */
export type TokenBucketOptions = {
  /** The most tokens, and so the largest burst: a whole number from 1. */
  capacity: number;
} & (
  | {
      /** Tokens that come back in a second, any positive number. */
      refillPerSecond: number;
      refill?: never;
    }
  | {
      /** `amount` tokens every `everyMs` milliseconds, both whole numbers: exact for any rate. */
      refill: { amount: number; everyMs: number };
      refillPerSecond?: never;
    }
);

const TOKEN_BUCKET = object({
  capacity: required(units),
  refillPerSecond: optional(positiveNumber),
  refill: optional(object({ amount: required(units), everyMs: required(spanMs) })),
});

/**
 * A bucket of `capacity` tokens that refills continuously. Any interval T admits at most
 * capacity + rate × T. `refill: { amount: 100, everyMs: 60_000 }` states a rate exactly;
 * `refillPerSecond` is read as the simplest fraction within rounding error (1/3 is 1 in 3 s).
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucketLimit {
  const site = siteOf("tokenBucket");
  const { capacity, refillPerSecond, refill: written } = readOptions(site, TOKEN_BUCKET, options);
  if ((written === undefined) === (refillPerSecond === undefined)) {
    refuse(site, `needs either refillPerSecond or refill, got ${show(options)}`);
  }
  const refill =
    written === undefined
      ? toRate(site, "refillPerSecond", refillPerSecond)
      : Object.freeze({ amount: written.amount, everyMs: written.everyMs });
  const numbers = bucketNumbers(site, capacity, refill);
  return made({ algorithm: "tokenBucket", refill, ...numbers });
}

/** Options of {@link leakyBucket}. */
export interface LeakyBucketOptions {
  /** How many leave in a second, any positive number. */
  ratePerSecond: number;
  /** How many may wait: a whole number from 0. The one that leaves now does not wait. */
  queueSize: number;
  /** `"shape"` (default) delays; `"meter"` admits the same requests immediately, without a delay. */
  mode?: "shape" | "meter";
}

const LEAKY_BUCKET = object({
  ratePerSecond: required(positiveNumber),
  queueSize: required(wholeNumber({ min: 0, max: UNITS_MAX - 1 })),
  mode: withDefault(choice(["shape", "meter"]), "shape"),
} satisfies Record<keyof LeakyBucketOptions, unknown>);

/**
 * A queue that leaks at a constant rate. As a shaper its verdicts carry `delayMs`: admitted
 * requests leave exactly 1/rate apart, at most `queueSize` of them wait, and one more is refused.
 * As a meter it refuses the same requests but delays none. A cost of n takes n places in the queue. Its
 * `Decision.limit` is `queueSize` + 1: as many requests can pass together.
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketLimit {
  const site = siteOf("leakyBucket");
  const { ratePerSecond, queueSize, mode } = readOptions(site, LEAKY_BUCKET, options);
  const rate = toRate(site, "ratePerSecond", ratePerSecond);
  // The one that leaves now does not wait, so one more than the queue fits.
  const numbers = bucketNumbers(site, queueSize + 1, rate);
  return made({ algorithm: "leakyBucket", ratePerSecond, queueSize, mode, ...numbers });
}

/** Options of {@link slidingWindowCounter} and {@link slidingWindowLog}. */
export interface WindowOptions {
  /** The most units in a window: a whole number from 1. */
  limit: number;
  /** How long a window is, in whole milliseconds, up to a leap year. */
  windowMs: number;
}

/** Options of {@link fixedWindow}. */
export interface FixedWindowOptions extends WindowOptions {
  /**
   * Where windows start. `"epoch"` (default): at multiples of windowMs; `"key"`: the same, shifted by a
   * fixed time for each key; `"first"`: with the first request of a key, and again with its first request
   * after that window has ended.
   */
  align?: "epoch" | "key" | "first";
}

const WINDOW = object({
  limit: required(units),
  windowMs: required(spanMs),
} satisfies Record<keyof WindowOptions, unknown>);

const FIXED_WINDOW = object({
  ...WINDOW.fields,
  align: withDefault(choice(["epoch", "key", "first"]), "epoch"),
} satisfies Record<keyof FixedWindowOptions, unknown>);

/**
 * At most `limit` units in each window [k·w, (k+1)·w). With `align: "key"` each key has its own
 * fixed shift, so that not all keys reset together. With `align: "first"` a key's window starts with its
 * first request, as in express-rate-limit, @fastify/rate-limit and rate-limiter-flexible.
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowLimit {
  const site = siteOf("fixedWindow");
  const { limit, windowMs, align } = readOptions(site, FIXED_WINDOW, options);
  // A window that starts with the first request is identified by its end, any other by its number.
  const windows = align === "first" ? TIME_MS_MAX + windowMs : TIME_MS_MAX / windowMs;
  const numbers = windowNumbers(limit, windows);
  return made({
    algorithm: "fixedWindow",
    windowMs,
    align,
    recoveryMs: windowMs,
    ...numbers,
  });
}

/**
 * At most `limit` units by the estimate `previous × remaining share + current`: two counters
 * for each key and an answer close to the exact log's.
 */
export function slidingWindowCounter(options: WindowOptions): SlidingWindowCounterLimit {
  const site = siteOf("slidingWindowCounter");
  const { limit, windowMs } = readOptions(site, WINDOW, options);
  const numbers = windowNumbers(limit, TIME_MS_MAX / windowMs);
  return made({
    algorithm: "slidingWindowCounter",
    windowMs,
    recoveryMs: 2 * windowMs,
    ...numbers,
  });
}

/**
 * At most `limit` units in every rolling window, exactly. An entry exactly `windowMs` old is out.
 * Each key keeps at most one entry for each unit of the limit and each millisecond.
 */
export function slidingWindowLog(options: WindowOptions): SlidingWindowLogLimit {
  const site = siteOf("slidingWindowLog");
  const { limit, windowMs } = readOptions(site, WINDOW, options);
  return made({ algorithm: "slidingWindowLog", capacity: limit, windowMs, recoveryMs: windowMs });
}

/** Options of {@link concurrency}. */
export interface ConcurrencyOptions {
  /** The most permits held at the same time: a whole number from 1. */
  limit: number;
  /** After how many milliseconds a permit that was not released expires, up to a leap year. */
  permitMs: number;
}

const CONCURRENCY = object({
  limit: required(units),
  permitMs: required(spanMs),
} satisfies Record<keyof ConcurrencyOptions, unknown>);

/**
 * At most `limit` permits held at the same time. A permit that is not released expires after `permitMs`,
 * so that the permit of a holder that died becomes free again.
 */
export function concurrency(options: ConcurrencyOptions): ConcurrencyLimit {
  const site = siteOf("concurrency");
  const { limit, permitMs } = readOptions(site, CONCURRENCY, options);
  return made({ algorithm: "concurrency", capacity: limit, permitMs, recoveryMs: permitMs });
}

/** Options of {@link quota}. */
export interface QuotaOptions {
  /** The most units in a period: a whole number from 1. */
  limit: number;
  period: CalendarPeriod;
  /** IANA name, default `"UTC"`. */
  timeZone?: string;
  /**
   * When a period begins: the day of the month (1 to 31, clipped to short months), the ISO
   * weekday (1 is Monday) or the hour of the day; or a local date that has them, such as
   * "2024-01-31" or "2024-01-31T09:30". Default: the first, Monday, midnight.
   */
  anchor?: number | string;
  /**
   * Whether a change of `limit` in mid-period counts for the rest of the period only; default false: it counts as if it
   * had been so from the start. For rules with `durable`.
   */
  prorate?: boolean;
}

// A day of a time zone may lose or gain two hours, which no zone has done more of.
const PERIOD_MS_MIN = { day: 22 * 3_600_000, week: 166 * 3_600_000, month: 27 * 86_400_000 };
const PERIOD_MS_MAX = { day: 26 * 3_600_000, week: 170 * 3_600_000, month: 32 * 86_400_000 };

// The calendar knows which time zones and anchors there are.
const QUOTA = object({
  limit: required(units),
  period: required(choice(["day", "week", "month"])),
  timeZone: optional(anything()),
  anchor: optional(anything()),
  prorate: withDefault(flag, false),
} satisfies Record<keyof QuotaOptions, unknown>);

/** At most `limit` units in each calendar day, week or month of a time zone. */
export function quota(options: QuotaOptions): QuotaLimit {
  const site = siteOf("quota");
  const { limit, prorate } = readOptions(site, QUOTA, options);
  const calendar = Object.freeze(toCalendar(options));
  const { period } = calendar;
  const numbers = windowNumbers(limit, TIME_MS_MAX / PERIOD_MS_MIN[period]);
  const recoveryMs = PERIOD_MS_MAX[period];
  const said = {
    ...(options.timeZone === undefined ? {} : ({ ownTimeZone: true } as const)),
    ...(options.anchor === undefined ? {} : ({ ownAnchor: true } as const)),
    ...(prorate ? ({ prorate } as const) : {}),
  };
  return made({ algorithm: "quota", period, calendar, recoveryMs, ...numbers, ...said });
}

/** When a period of a quota begins and ends, in Unix milliseconds: the interval [startMs, endMs). */
export interface QuotaPeriod {
  readonly startMs: number;
  readonly endMs: number;
}

/** The period of a quota that holds `nowMs`, an instant from 1970 to the end of 2100. */
export function quotaPeriod(limit: QuotaLimit, nowMs: number): QuotaPeriod {
  return currentPeriod(limit, nowMs);
}

/** Whether a limit delays what it admits. */
export function isShaper(limit: Limit): limit is LeakyBucketLimit {
  return limit.algorithm === "leakyBucket" && limit.mode === "shape";
}

/**
 * A stricter limit of the same kind: `share` of the units, rounded down but at least one, and of
 * the rate. Windows, periods and permits last as long as before. `share` is above 0 and at most 1.
 */
export function scaleLimit(limit: Limit, share: number): Limit {
  // A product such as 100 × 0.29 may fall short of a whole number by its last digit.
  const units = Math.max(1, Math.floor(limit.capacity * share + 1e-9));
  switch (limit.algorithm) {
    case "tokenBucket": {
      const { amount, everyMs } = limit.refill;
      return tokenBucket({ capacity: units, refillPerSecond: ((amount * 1000) / everyMs) * share });
    }
    case "leakyBucket": {
      const { mode } = limit;
      return leakyBucket({
        ratePerSecond: limit.ratePerSecond * share,
        queueSize: units - 1,
        mode,
      });
    }
    default:
      // Their other numbers don't follow from the units, or only bound what fewer units need.
      return made({ ...limit, capacity: units });
  }
}

function siteOf(name: string): OptionSite {
  return { name, code: "SLUICE_LIMIT_INVALID" };
}

const madeLimits = new WeakSet<object>();

/** A limit that is known to be valid, frozen: for constructors of limits only. */
export function made<L extends Limit>(limit: L): L {
  madeLimits.add(limit);
  return Object.freeze(limit);
}

/** Whether a constructor of this file made and so validated it: look-alikes could hold anything. */
export function isLimit(value: unknown): value is Limit {
  return typeof value === "object" && value !== null && madeLimits.has(value);
}
