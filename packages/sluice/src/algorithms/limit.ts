// Limits as algorithms read them: what the user wrote, and the whole numbers derived from it. The constructors
// in limits/ make them, and nothing else does.

import type { Calendar, CalendarPeriod } from "./calendar.js";
import type { BucketNumbers, LimitNumbers, WindowNumbers } from "./numbers.js";
import type { SketchSize } from "./sketch-size.js";

/** Made by `tokenBucket`. */
export interface TokenBucketLimit extends BucketNumbers {
  readonly algorithm: "tokenBucket";
  readonly refill: { readonly amount: number; readonly everyMs: number };
}

/** Made by `leakyBucket`. */
export interface LeakyBucketLimit extends BucketNumbers {
  readonly algorithm: "leakyBucket";
  readonly ratePerSecond: number;
  readonly queueSize: number;
  readonly mode: "shape" | "meter";
}

/** Made by `fixedWindow`. */
export interface FixedWindowLimit extends WindowNumbers {
  readonly algorithm: "fixedWindow";
  readonly windowMs: number;
  readonly align: "epoch" | "key" | "first";
}

/** Made by `slidingWindowCounter`. */
export interface SlidingWindowCounterLimit extends WindowNumbers {
  readonly algorithm: "slidingWindowCounter";
  readonly windowMs: number;
}

/** Made by `quota`. */
export interface QuotaLimit extends WindowNumbers {
  readonly algorithm: "quota";
  readonly period: CalendarPeriod;
  readonly calendar: Calendar;
  /** Present if its time zone, or its anchor, is its own, and not that of a tenant or the default. */
  readonly ownTimeZone?: true;
  readonly ownAnchor?: true;
  /** Whether other numbers in mid-period count for the rest of the period only. */
  readonly prorate?: true;
}

/** Made by `slidingWindowLog`. */
export interface SlidingWindowLogLimit extends LimitNumbers {
  readonly algorithm: "slidingWindowLog";
  readonly windowMs: number;
}

/** Made by `concurrency`. */
export interface ConcurrencyLimit extends LimitNumbers {
  readonly algorithm: "concurrency";
  readonly permitMs: number;
}

/** Made by `sketch`. */
export interface SketchLimit extends WindowNumbers, SketchSize {
  readonly algorithm: "sketch";
  readonly windowMs: number;
  /** One window for all keys. */
  readonly align: "epoch";
  readonly errorShare: number;
  readonly confidence: number;
  readonly exactKeysMax: number;
}

/** Token and leaky buckets are decided by the same arithmetic. */
export type BucketLimit = TokenBucketLimit | LeakyBucketLimit;
/** Logs and permits are both lists of entries that expire. */
export type EntryLimit = SlidingWindowLogLimit | ConcurrencyLimit;
/** An algorithm and its numbers. */
export type Limit =
  | BucketLimit
  | FixedWindowLimit
  | SlidingWindowCounterLimit
  | QuotaLimit
  | SketchLimit
  | EntryLimit;
