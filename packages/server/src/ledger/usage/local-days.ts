// Days of a time zone: which one an instant is in, and when the next begins. Zone data comes from Intl alone.

const HOUR_MS = 3_600_000;
/** The longest day: 24 hours, and what clocks are put back by. */
const DAY_MS_MAX = 27 * HOUR_MS;
/** 2^27 ms is longer than that. */
const HALVINGS_MAX = 27;
/** A formatter holds some 25 KiB. */
const FORMATTERS_MAX = 64;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** A span from `startMs` to just before `endMs`, in Unix milliseconds. */
export interface TimeSpan {
  readonly startMs: number;
  readonly endMs: number;
}

/** A day of a time zone, or the part of it that is looked at. */
export interface LocalDay extends TimeSpan {
  /** `2026-05-31`. */
  readonly day: string;
}

/**
 * The day that an instant is in: `2026-05-31`.
 *
 * @param timeZone - An IANA time zone such as `Europe/Paris`.
 * @throws RangeError for a time zone that does not exist.
 */
export function dayAt(timeZone: string, atMs: number): string {
  return formatterOf(timeZone).format(atMs);
}

/** The days that a span touches, in their order: the first and the last cut to the span. Empty for an empty span. */
export function daysOf(timeZone: string, { startMs, endMs }: TimeSpan): LocalDay[] {
  const days: LocalDay[] = [];
  for (let fromMs = startMs; fromMs < endMs; ) {
    const nextMs = Math.min(endMs, nextDayMs(timeZone, fromMs));
    days.push({ day: dayAt(timeZone, fromMs), startMs: fromMs, endMs: nextMs });
    fromMs = nextMs;
  }
  return days;
}

/** The first instant after `atMs` that is in another day, found by halving: clocks change at any hour. */
function nextDayMs(timeZone: string, atMs: number): number {
  const day = dayAt(timeZone, atMs);
  let lowMs = atMs;
  let highMs = atMs + DAY_MS_MAX;
  for (let n = 0; n < HALVINGS_MAX && highMs - lowMs > 1; n++) {
    const middleMs = Math.floor((lowMs + highMs) / 2);
    if (dayAt(timeZone, middleMs) === day) lowMs = middleMs;
    else highMs = middleMs;
  }
  return highMs;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  // The form of Sweden is that of ISO 8601.
  const date = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
  const formatter = new Intl.DateTimeFormat("sv-SE", { timeZone, ...date });
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(timeZone, formatter);
  return formatter;
}
