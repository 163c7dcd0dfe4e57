// Calendar arithmetic for quotas: in which day, week or month of a time zone does an instant lie,
// and when does that period start and end? A period starts at the earliest instant whose local
// wall time is at or after its boundary. That one rule covers boundaries that a clock change skips
// or repeats, and makes periods tile time: no gap, no overlap, and none that begins twice.
// Zone data comes from Intl alone.

import { BoundedMap } from "../base/bounded-map.js";
import { SluiceError, show } from "../base/errors.js";

/** How long a quota lasts before it starts again in full. */
export type CalendarPeriod = "day" | "week" | "month";

/** What the user writes. */
export interface CalendarOptions {
  /** `"day"`, `"week"` or `"month"`. */
  period: CalendarPeriod;
  /** An IANA time zone such as `"Europe/Paris"`. Default `"UTC"`. */
  timeZone?: string;
  /**
   * Where in the calendar a period begins. As a number: the day of the month, 1 to 31 (default 1;
   * a shorter month begins on its last day); the ISO weekday, 1 (Monday, default) to 7; or the hour
   * of the day, 0 (default) to 23. As a string: a local date or date-time, `"2024-01-31"` or
   * `"2024-01-31T09:30"` or with seconds, whose day of month or weekday and time of day are taken.
   */
  anchor?: number | string;
}

/** Validated options. */
export interface Calendar {
  readonly period: CalendarPeriod;
  readonly timeZone: string;
  /** Day of the month, 1 to 31, or ISO weekday, 1 to 7; always 1 where the period is a day. */
  readonly anchorDay: number;
  /** Local time of day at which a period begins, in milliseconds after midnight. */
  readonly anchorMs: number;
}

/** One period: the half-open interval [startMs, endMs), in Unix milliseconds. */
export interface Period {
  /** A whole number from 0 to below 2^16: days, weeks or months, counted from the start of 1969. */
  readonly index: number;
  readonly startMs: number;
  readonly endMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// Counting starts a year early: in no zone, under no anchor, is the period at Unix time 0 below 0.
const FIRST_YEAR = 1969;
const FIRST_MONDAY_MS = Date.UTC(1968, 11, 30);
const PERIOD_DAYS = { day: 1, week: 7 } as const;
const ANCHOR_RANGES = {
  day: { min: 0, max: 23, unit: "an hour" },
  week: { min: 1, max: 7, unit: "an ISO weekday" },
  month: { min: 1, max: 31, unit: "a day of the month" },
} as const;
// No clock change skips more than a day, and 2^27 ms is longer than one.
const GAP_HALVINGS_MAX = 27;
// A formatter holds about 25 KiB and takes some 75 µs to make.
const FORMATTERS_MAX = 128;
const formatters = new BoundedMap<string, Intl.DateTimeFormat>(FORMATTERS_MAX);

/** Validates options; throws `SLUICE_LIMIT_INVALID`, with what was seen, for any that is invalid. */
export function toCalendar(options: CalendarOptions): Calendar {
  const { period, timeZone = "UTC", anchor } = options;
  if (period !== "day" && period !== "week" && period !== "month") {
    throw refuse(`quota.period must be "day", "week" or "month", got ${show(period)}`);
  }
  return { period, timeZone: toTimeZone(timeZone), ...toAnchor(period, anchor) };
}

/**
 * Returns the period that holds `nowMs`, for instants from 1970 to the end of 2100; it is never
 * empty. The period before it ends at its `startMs`, the one after it is at its `endMs`. Indexes
 * rise by one, except past a period that the zone skipped whole (30 December 2011 in Apia).
 */
export function periodAt(calendar: Calendar, nowMs: number): Period {
  const localMs = nowMs + offsetMsAt(calendar.timeZone, nowMs);
  const period = periodOfIndex(calendar, indexAtLocal(calendar, localMs));
  // Clocks that go back over a boundary (St John's, from 00:01 to 23:01) read as the period before,
  // but the next one has begun and does not begin twice.
  return nowMs < period.endMs ? period : periodOfIndex(calendar, period.index + 1);
}

/** Returns the period of that index; empty (startMs = endMs) where the zone skipped it whole. */
function periodOfIndex(calendar: Calendar, index: number): Period {
  const { timeZone } = calendar;
  return {
    index,
    startMs: firstInstantMs(timeZone, boundaryLocalMs(calendar, index)),
    endMs: firstInstantMs(timeZone, boundaryLocalMs(calendar, index + 1)),
  };
}

// Local times are milliseconds too, counted as if the wall clock showed UTC.

function indexAtLocal({ period, anchorDay, anchorMs }: Calendar, localMs: number): number {
  const shiftedMs = localMs - anchorMs;
  if (period !== "month") {
    const daysMs = shiftedMs - FIRST_MONDAY_MS - (anchorDay - 1) * DAY_MS;
    return Math.floor(daysMs / (PERIOD_DAYS[period] * DAY_MS));
  }
  const date = new Date(Math.floor(shiftedMs));
  const index = (date.getUTCFullYear() - FIRST_YEAR) * 12 + date.getUTCMonth();
  return date.getUTCDate() < dayOfMonth(index, anchorDay) ? index - 1 : index;
}

function boundaryLocalMs({ period, anchorDay, anchorMs }: Calendar, index: number): number {
  if (period === "month") {
    return Date.UTC(FIRST_YEAR, index, dayOfMonth(index, anchorDay)) + anchorMs;
  }
  const days = index * PERIOD_DAYS[period] + anchorDay - 1;
  return FIRST_MONDAY_MS + days * DAY_MS + anchorMs;
}

function dayOfMonth(index: number, anchorDay: number): number {
  const lastDay = new Date(Date.UTC(FIRST_YEAR, index + 1, 0)).getUTCDate();
  return Math.min(anchorDay, lastDay);
}

/** The earliest instant at which the local clock shows `localMs` or later. */
function firstInstantMs(timeZone: string, localMs: number): number {
  // Offsets stay within 15 hours and clock changes lie days apart, so that at most one of them
  // lies between the day before and the instant wanted.
  const beforeMs = offsetMsAt(timeZone, localMs - DAY_MS);
  const earlyMs = localMs - beforeMs;
  const afterMs = offsetMsAt(timeZone, earlyMs);
  if (afterMs === beforeMs) return earlyMs;
  const lateMs = localMs - afterMs;
  if (offsetMsAt(timeZone, lateMs) === afterMs) return lateMs;
  // Each offset points to the other side of the change: the boundary was skipped.
  return changeMsWithin(timeZone, { fromMs: lateMs, toMs: earlyMs });
}

/** The first instant in (fromMs, toMs] that has the offset of `toMs`. */
function changeMsWithin(timeZone: string, span: { fromMs: number; toMs: number }): number {
  const afterMs = offsetMsAt(timeZone, span.toMs);
  let lowMs = span.fromMs;
  let highMs = span.toMs;
  for (let n = 0; n < GAP_HALVINGS_MAX && highMs - lowMs > 1; n++) {
    const middleMs = Math.floor((lowMs + highMs) / 2);
    if (offsetMsAt(timeZone, middleMs) === afterMs) highMs = middleMs;
    else lowMs = middleMs;
  }
  return highMs;
}

function offsetMsAt(timeZone: string, atMs: number): number {
  if (timeZone === "UTC") return 0;
  // Shown as 01/31/2024, 09:30:00: a third of the cost of formatToParts.
  const shown = formatterOf(timeZone).format(atMs).split(/\D+/).map(Number);
  const [month, day, year, hour, minute, second] = shown;
  // The format ends at seconds, and so do offsets: even historical ones are whole seconds.
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const date = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
  const formatter = new Intl.DateTimeFormat("en-US", { timeZone, ...date, ...time });
  formatters.set(timeZone, formatter);
  return formatter;
}

function toTimeZone(timeZone: unknown): string {
  const text = `quota.timeZone must be an IANA time zone, got ${show(timeZone)}`;
  // Some runtimes take offsets such as +05:30; a rule has to mean the same on all of them.
  if (typeof timeZone !== "string" || !/^[a-z]/i.test(timeZone)) throw refuse(text);
  if (/^(etc\/)?(utc|gmt)$/i.test(timeZone)) return "UTC";
  try {
    formatterOf(timeZone);
  } catch {
    throw refuse(text);
  }
  return timeZone;
}

type Anchor = Pick<Calendar, "anchorDay" | "anchorMs">;

function toAnchor(period: CalendarPeriod, anchor: unknown): Anchor {
  const { min, max, unit } = ANCHOR_RANGES[period];
  const seen = anchor === undefined ? min : anchor;
  if (typeof seen === "number" && Number.isInteger(seen) && seen >= min && seen <= max) {
    return period === "day"
      ? { anchorDay: 1, anchorMs: seen * HOUR_MS }
      : { anchorDay: seen, anchorMs: 0 };
  }
  const localMs = typeof seen === "string" ? parseLocalMs(seen) : undefined;
  if (localMs === undefined) {
    const forms = `${unit} from ${min} to ${max} or a local date like "2024-01-31T09:30"`;
    throw refuse(`quota.anchor must be ${forms}, got ${show(seen)}`);
  }
  const date = new Date(localMs);
  const days = { day: 1, week: date.getUTCDay() || 7, month: date.getUTCDate() };
  return { anchorDay: days[period], anchorMs: localMs - Math.floor(localMs / DAY_MS) * DAY_MS };
}

function parseLocalMs(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(text)) return undefined;
  const localMs = Date.parse(text.includes("T") ? `${text}Z` : text);
  // Date.parse rolls some impossible dates over; what it understood has to read as what was written.
  const isExact = !Number.isNaN(localMs) && new Date(localMs).toISOString().startsWith(text);
  return isExact ? localMs : undefined;
}

function refuse(seen: string): SluiceError {
  return new SluiceError("SLUICE_LIMIT_INVALID", seen);
}
