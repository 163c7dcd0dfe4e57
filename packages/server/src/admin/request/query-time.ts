// Times in a query: Unix milliseconds, a date, or a date with a time and an offset.

import { type Shape, stringFor } from "sluice/shapes";
import { daysOf } from "../../ledger/usage/local-days.js";

/** A time as it was written. */
export type QueryTime =
  | { readonly ms: number }
  /** The beginning of a day, in the time zone that the answer is about. */
  | { readonly day: string };

const DAY_MS = 86_400_000;
/** No time zone is further from UTC, and no day is longer. */
const ZONE_MS_MAX = 2 * DAY_MS;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time in a query. */
export const queryTime: Shape<QueryTime> = stringFor({
  what: "a day such as 2026-05-01, a time such as 2026-05-01T09:30:00Z, or Unix milliseconds",
  lengthMax: 40,
  toValue: readTime,
});

/** The instant that is meant; a day begins at its midnight in `timeZone`. */
export function toMs(time: QueryTime, timeZone: string): number {
  if ("ms" in time) return time.ms;
  const utcMs = Date.parse(time.day);
  if (timeZone === "UTC") return utcMs;
  const span = { startMs: utcMs - ZONE_MS_MAX, endMs: utcMs + ZONE_MS_MAX };
  return daysOf(timeZone, span).find(({ day }) => day === time.day)?.startMs ?? utcMs;
}

function readTime(text: string): QueryTime | undefined {
  if (/^\d{1,15}$/.test(text)) return { ms: Number(text) };
  // A date that does not exist, such as 2026-02-30, is moved by some engines.
  const isDay = DAY.test(text);
  const ms = isDay || INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) return undefined;
  if (!isDay) return { ms };
  return new Date(ms).toISOString().startsWith(text) ? { day: text } : undefined;
}
