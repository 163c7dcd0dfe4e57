// Times in headers: seconds, HTTP dates, seconds since 1970, and durations such as `6m0s`. A server's clock may be wrong,
// so a date counts from the response's own Date header. What is not valid is undefined, and is then ignored.

import type { HeaderSource } from "./header-source.js";

/** No header makes the client wait longer than this. A server that means it says so again. */
export const HEADER_MS_MAX = 3_600_000;

/** From this number on a reset is not seconds from now but since 1970: as a duration it would be 31 years. */
const EPOCH_SECONDS_MIN = 1_000_000_000;
const EPOCH_MS_MIN = EPOCH_SECONDS_MIN * 1_000;

/** The Date header of the response, or the client's wall clock without one. */
export function serverMsOf(headers: HeaderSource, wallMs: number): number {
  return parseHttpDate(headers.get("date") ?? "") ?? wallMs;
}

/**
 * How long to wait by Retry-After, as seconds or as a date; undefined without a valid one. A date in the past is 0.
 * Fractions of seconds are not in the standard, but Shopify and Discord send them. OpenAI and Azure send
 * `retry-after-ms` beside it, which is more precise.
 */
export function readRetryAfterMs(headers: HeaderSource, wallMs: number): number | undefined {
  const inMs = parseDecimal(headers.get("retry-after-ms") ?? "");
  if (inMs !== undefined) return bounded(inMs);
  const field = headers.get("retry-after")?.trim() ?? "";
  if (field === "") return undefined;
  const seconds = parseDecimal(field);
  if (seconds !== undefined) return bounded(seconds * 1_000);
  const dateMs = parseHttpDate(field);
  return dateMs === undefined ? undefined : bounded(dateMs - serverMsOf(headers, wallMs));
}

/**
 * How long until a reset that is written as seconds from now, as seconds or milliseconds since 1970, as a duration
 * such as `1s` or `6m0s`, or as a date. Undefined if it is none of these.
 */
export function parseResetMs(
  field: string,
  headers: HeaderSource,
  wallMs: number,
): number | undefined {
  const text = field.trim();
  const number = parseDecimal(text);
  if (number === undefined) {
    const durationMs = parseGoDuration(text);
    if (durationMs !== undefined) return bounded(durationMs);
    const dateMs = parseHttpDate(text) ?? parseIsoDate(text);
    return dateMs === undefined ? undefined : bounded(dateMs - serverMsOf(headers, wallMs));
  }
  if (number < EPOCH_SECONDS_MIN) return bounded(number * 1_000);
  const atMs = number < EPOCH_MS_MIN ? number * 1_000 : number;
  return bounded(atMs - serverMsOf(headers, wallMs));
}

/** A number without sign or exponent; undefined if it is not one. */
export function parseDecimal(text: string): number | undefined {
  return /^\s*\d{1,15}(?:\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

/** A whole number from 0; undefined if it is not one. */
export function parseWhole(text: string): number | undefined {
  return /^\s*\d{1,15}\s*$/.test(text) ? Number(text) : undefined;
}

/** The three forms of RFC 9110. `Date.parse` alone would take much more, such as "1" for the year 2001. */
const DATE_FORMS = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
] as const;

/** An HTTP date in milliseconds since 1970; undefined if it is not one. */
export function parseHttpDate(text: string): number | undefined {
  const form = DATE_FORMS.findIndex((pattern) => pattern.test(text));
  if (form === -1) return undefined;
  // The last form has no zone, and is GMT all the same.
  return finite(Date.parse(form === 2 ? `${text} GMT` : text));
}

function parseIsoDate(text: string): number | undefined {
  const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
  return form.test(text) ? finite(Date.parse(text)) : undefined;
}

const GO_UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** `6m0s`, `1.5s` or `20ms`, as OpenAI writes durations. */
function parseGoDuration(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s)){1,4}$/.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount, unit = ""] of text.matchAll(/([\d.]+)(ms|h|m|s)/g)) {
    sumMs += Number(amount) * (GO_UNITS_MS[unit] as number);
  }
  return sumMs;
}

function finite(ms: number): number | undefined {
  return Number.isNaN(ms) ? undefined : ms;
}

function bounded(ms: number): number {
  return Math.min(HEADER_MS_MAX, Math.max(0, Math.ceil(ms)));
}
