// The short form of limits: a rate such as `"100/minute"` or `"100/5m"`, in rule files and in code.

import { UNITS_MAX, WINDOW_MS_MAX } from "../algorithms/numbers.js";
import { type DurationUnit, parseDuration, toMeantUnit, UNITS_MS } from "../base/durations.js";
import { show } from "../base/errors.js";
import { type OptionSite, readOption } from "../base/shapes/code-options.js";
import type { Shape } from "../base/shapes/shapes.js";
import { isLimit, type Limit, slidingWindowCounter, slidingWindowLog } from "./limits.js";

/** This many units in a second, minute, hour or day, or in any duration: `"100/minute"`, `"100/5m"`. */
export type Rate =
  | `${number}/${"second" | "minute" | "hour" | "day"}`
  | `${number}/${number}${DurationUnit}`;

/** A limit that a constructor made, or a rate. */
export type LimitOrRate = Limit | Rate;

/** The words that a rate may be per, besides any duration. */
const WORDS_MS: Readonly<Record<string, number>> = {
  second: UNITS_MS.s,
  minute: UNITS_MS.m,
  hour: UNITS_MS.h,
  day: UNITS_MS.d,
};

/** The form of a rate, as a regular expression for JSON Schema. */
export const RATE_PATTERN = "^[0-9]{1,16}/(second|minute|hour|day|[0-9]{1,15}(ms|s|m|h|d))$";

/** Up to here a rate is counted exactly; the estimate of two counters is coarse for small numbers. */
const EXACT_RATE_MAX = 100;

/**
 * The limit that a rate stands for: a sliding window, exact up to 100 units and by two counters above. Undefined if the
 * string is not a rate, or if its numbers are out of bounds.
 */
export function parseRate(rate: string): Limit | undefined {
  const per = toNumbers(rate);
  const fits = per !== undefined && per.limit >= 1 && per.limit <= UNITS_MAX;
  if (!fits || per.windowMs < 1 || per.windowMs > WINDOW_MS_MAX) return undefined;
  return per.limit <= EXACT_RATE_MAX ? slidingWindowLog(per) : slidingWindowCounter(per);
}

function toNumbers(rate: string): { limit: number; windowMs: number } | undefined {
  if (!new RegExp(RATE_PATTERN).test(rate)) return undefined;
  const [limit, per] = rate.split("/");
  const windowMs = WORDS_MS[per] ?? parseDuration(per);
  return windowMs === undefined ? undefined : { limit: Number(limit), windowMs };
}

/** `5/minute` for `5/min`, `5 per minute` or `5/mintue`, `5/10m` for `5/10 minutes`; undefined if nothing is near. */
export function toMeantRate(given: string): string | undefined {
  const [, limit, count, word] =
    /^\s*(\d{1,16})\s*(?:\/|per\b)\s*(?:(\d{1,15})\s*)?([a-z]{1,16})\s*$/i.exec(given) ?? [];
  const unit = word === undefined ? undefined : toMeantUnit(word);
  if (unit === undefined) return undefined;
  const per = Object.keys(WORDS_MS).find((name) => WORDS_MS[name] === UNITS_MS[unit]);
  const meant = `${limit}/${count === undefined ? (per ?? `1${unit}`) : `${count}${unit}`}`;
  return toNumbers(meant) === undefined || meant === given ? undefined : meant;
}

/** What an error adds about a value that was probably meant as a rate. */
export function rateHint(value: unknown): string {
  const meant = typeof value === "string" ? toMeantRate(value) : undefined;
  return meant === undefined ? "" : `; did you mean ${show(meant)}?`;
}

/** A limit in code: one that a constructor made, or a rate. */
export const limitInCode: Shape<Limit> = {
  what: 'made by tokenBucket(…) or another constructor, or a rate such as "100/minute"',
  schema: {},
  read: (value, spot) => {
    if (isLimit(value)) return value;
    const isString = typeof value === "string";
    const meant = isString ? toMeantRate(value) : undefined;
    const hint = meant === undefined ? undefined : show(meant);
    return (isString ? parseRate(value) : undefined) ?? spot.refuse(limitInCode.what, value, hint);
  },
};

/** One limit in code, or a list of them. Problems of a list's items are those of the list. */
export const limitsInCode: Shape<readonly Limit[]> = {
  what: limitInCode.what,
  schema: {},
  read: (value, spot) => {
    // A list may have holes, which Array.from fills with undefined.
    const given: readonly unknown[] = Array.isArray(value) ? Array.from(value) : [value];
    if (given.length === 0) return spot.refuse("one limit or several", value);
    return given.map((one) => limitInCode.read(one, spot) as Limit);
  },
};

/** The limit that was passed as the option `limit`. Refuses anything but a limit and a rate. */
export function toLimit(site: OptionSite, value: unknown): Limit {
  return readOption(site, "limit", limitInCode, value);
}
