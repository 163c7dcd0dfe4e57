// A period of a quota, as people read it.

import { dayAt, type TimeSpan } from "../../ledger/usage/local-days.js";

/**
 * `2026-05-01 to 2026-06-01`, in days of the time zone. A period that begins or ends within a day of that zone, because
 * of a billing anchor or a rule with a time zone of its own, is shown with times and the zone: days alone would be
 * read as other ones.
 */
export function formatPeriod({ startMs, endMs }: TimeSpan, timeZone: string): string {
  const isWholeDays = [startMs, endMs].every((atMs) => beginsDay(timeZone, atMs));
  if (isWholeDays) return `${dayAt(timeZone, startMs)} to ${dayAt(timeZone, endMs)}`;
  const style = { dateStyle: "short", timeStyle: "short", timeZone } as const;
  // The form of Sweden is that of ISO 8601.
  const formatter = new Intl.DateTimeFormat("sv-SE", style);
  return `${formatter.format(startMs)} to ${formatter.format(endMs)} ${timeZone}`;
}

/** Not every day begins at midnight: clocks are put forward then in some zones. */
function beginsDay(timeZone: string, atMs: number): boolean {
  return dayAt(timeZone, atMs) !== dayAt(timeZone, atMs - 1);
}
