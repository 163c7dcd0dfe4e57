// The day on which a quota runs out, if its use continues as in the period so far. The rate is a mean over the days of the
// period in which recent days weigh more: a week ago counts half. The bounds allow for how much days differ: for the
// uncertainty of that mean, and for the chance of the days to come.

import type { DailyUsage } from "./daily-usage.js";
import { dayAt, daysOf, type LocalDay, type TimeSpan } from "./local-days.js";

/** Options of {@link forecastRunOut}. */
export interface ForecastOptions {
  /** The usage of each day of the period; days that are missing had none. */
  readonly usage: readonly DailyUsage[];
  /** What is left now. */
  readonly remaining: number;
  readonly period: TimeSpan;
  readonly nowMs: number;
  /** An IANA time zone. */
  readonly timeZone: string;
}

/** When a quota is expected to run out. Days are those of the account's time zone: `2026-05-31`. */
export interface Forecast {
  /** Units that are expected to be used in 24 hours. */
  readonly unitsPerDay: number;
  /** The day; undefined if the quota is expected to last until the period ends. Never before today. */
  readonly day: string | undefined;
  /** The instant, in Unix milliseconds. Never before now. */
  readonly atMs: number | undefined;
  /** In nine cases of ten it is not earlier; undefined if it then lasts until the period ends. */
  readonly earliestDay: string | undefined;
  /** In nine cases of ten it is not later; undefined if it then lasts until the period ends. */
  readonly latestDay: string | undefined;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HALF_LIFE_MS = 7 * DAY_MS;
/** Standard deviations within which nine of ten cases of a normal distribution are on one side. */
const DEVIATIONS = 1.2816;
/** Days that weigh as much as this many are too few to say how much days differ. */
const DAYS_MIN = 2;
/** Then the rate may be half or double. */
const UNKNOWN_FACTOR = 2;

/**
 * When the quota of a period runs out; undefined if nothing was used, before the period has begun and after its end. A
 * quota of which nothing is left runs out now.
 *
 * @throws RangeError for a time zone that does not exist.
 */
export function forecastRunOut(options: ForecastOptions): Forecast | undefined {
  const { usage, remaining, period, nowMs, timeZone } = options;
  if (nowMs < period.startMs || nowMs >= period.endMs) return undefined;
  const { startMs } = period;
  const rates = toRates(usage, daysOf(timeZone, { startMs, endMs: Math.max(nowMs, startMs + 1) }));
  const { mean: unitsPerDay } = rates;
  if (!(unitsPerDay > 0)) return undefined;
  const atMs = (rate: number) => runOutMs(remaining, rate, options);
  const day = (ms: number | undefined) => (ms === undefined ? undefined : dayAt(timeZone, ms));
  const { low, high } = boundsOf(rates, remaining / unitsPerDay);
  const likelyMs = atMs(unitsPerDay);
  return {
    unitsPerDay,
    day: day(likelyMs),
    atMs: likelyMs,
    earliestDay: day(atMs(high)),
    latestDay: day(atMs(low)),
  };
}

/** The instant at which this many units are used up at this many a day; undefined if the period ends before. */
function runOutMs(
  remaining: number,
  unitsPerDay: number,
  { nowMs, period }: ForecastOptions,
): number | undefined {
  if (remaining <= 0) return nowMs;
  const ms = nowMs + Math.ceil((remaining / unitsPerDay) * DAY_MS);
  return ms < period.endMs ? ms : undefined;
}

/** The rates of days, in units for 24 hours. */
interface Rates {
  readonly mean: number;
  /** How much days differ: the standard deviation. */
  readonly deviation: number;
  /** The number of days that would say as much if all weighed the same. */
  readonly days: number;
}

function toRates(usage: readonly DailyUsage[], days: readonly LocalDay[]): Rates {
  const unitsOf = new Map(usage.map(({ day, units }) => [day, units]));
  const endMs = days.at(-1)?.endMs ?? 0;
  const weighed = days.map(({ day, startMs, endMs: dayEndMs }) => {
    // A day that has just begun says little; it has the weight of its hours.
    const lengthDays = Math.max(dayEndMs - startMs, 1) / DAY_MS;
    const weight = lengthDays * 2 ** ((dayEndMs - endMs) / HALF_LIFE_MS);
    return { weight, lengthDays, rate: (unitsOf.get(day) ?? 0) / lengthDays };
  });
  return toMoments(weighed, days);
}

interface WeighedRate {
  readonly weight: number;
  readonly lengthDays: number;
  readonly rate: number;
}

function toMoments(weighed: readonly WeighedRate[], days: readonly LocalDay[]): Rates {
  const sum = (of: (each: WeighedRate) => number) =>
    weighed.reduce((total, each) => total + of(each), 0);
  const weights = sum(({ weight }) => weight);
  // The first minutes of a period would otherwise be taken for a whole day of the same.
  const spanMs = (days.at(-1)?.endMs ?? 0) - (days[0]?.startMs ?? 0);
  const shrink = Math.min(1, spanMs / HOUR_MS);
  const mean = (sum(({ weight, rate }) => weight * rate) / weights) * shrink;
  const variance = sum(({ weight, rate }) => weight * (rate - mean) ** 2) / weights;
  const squares = sum(({ weight }) => weight ** 2);
  return { mean, deviation: Math.sqrt(variance), days: weights ** 2 / squares };
}

/** The rates between which the mean rate of the next `horizonDays` is likely to be. */
function boundsOf(
  { mean, deviation, days }: Rates,
  horizonDays: number,
): { readonly low: number; readonly high: number } {
  if (days < DAYS_MIN) return { low: mean / UNKNOWN_FACTOR, high: mean * UNKNOWN_FACTOR };
  const spread = deviation * Math.sqrt(1 / days + 1 / Math.max(1, horizonDays));
  const low = mean - DEVIATIONS * spread;
  // Not zero: a rate of nothing has no day.
  return { low: Math.max(low, Number.MIN_VALUE), high: mean + DEVIATIONS * spread };
}
