// Durations as people write and read them: `90s` on the command line, `1 min 30 s` in what is printed.

import { wallMs } from "../../base/clock.js";

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Reads `500ms`, `90s`, `10m`, `2h` or `1d` as milliseconds, and `forever` as Infinity. Undefined if it is
 * none of them, or not at least one whole millisecond.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "forever") return Number.POSITIVE_INFINITY;
  const match = /^(\d{1,15}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text);
  if (match === null) return undefined;
  const ms = Math.round(Number(match[1]) * UNITS_MS[match[2]]);
  return Number.isSafeInteger(ms) && ms >= 1 ? ms : undefined;
}

/** Says milliseconds in words, in at most two units, rounded up; `never` if they don't end. */
export function formatDuration(ms: number | null): string {
  if (ms === null || ms === Number.POSITIVE_INFINITY) return "never";
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  if (ms < 10_000) return `${Math.ceil(ms / 100) / 10} s`;
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return twoUnits(seconds, 60, ["min", "s"]);
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 1_440) return twoUnits(minutes, 60, ["h", "min"]);
  return twoUnits(Math.ceil(minutes / 60), 24, ["d", "h"]);
}

/** How long a block lasts, and until when: `for 9 min 58 s, until 2026-11-16 04:10:00 UTC`. */
export function formatBlocked(blockedMs: number | null, nowMs: number = wallMs()): string {
  if (blockedMs === null || blockedMs === Number.POSITIVE_INFINITY) return "until it is unblocked";
  const end = new Date(nowMs + blockedMs);
  // Dates end long after any block: what lies beyond has no date.
  if (Number.isNaN(end.getTime())) return `for ${formatDuration(blockedMs)}`;
  const [day, time] = end.toISOString().split("T");
  return `for ${formatDuration(blockedMs)}, until ${day} ${time.slice(0, 8)} UTC`;
}

function twoUnits(amount: number, size: number, [large, small]: readonly [string, string]): string {
  const rest = amount % size;
  const whole = `${Math.floor(amount / size)} ${large}`;
  return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}
