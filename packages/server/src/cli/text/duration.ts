// Durations of the command: `90s` and `forever` as options, and how long a block lasts, in words.

import { type DurationUnit, formatDuration, UNITS_MS } from "sluice/shapes";
import { wallMs } from "../../base/clock.js";

/**
 * Reads `500ms`, `90s`, `10m`, `2h` or `1d` as milliseconds, and `forever` as Infinity. Undefined if it is
 * none of them, or not at least one whole millisecond.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "forever") return Number.POSITIVE_INFINITY;
  const match = /^(\d{1,15}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text);
  if (match === null) return undefined;
  const ms = Math.round(Number(match[1]) * UNITS_MS[match[2] as DurationUnit]);
  return Number.isSafeInteger(ms) && ms >= 1 ? ms : undefined;
}

/** How long a block lasts, and until when: `for 9 minutes 58 seconds, until 2026-11-16 04:10:00 UTC`. */
export function formatBlocked(blockedMs: number | null, nowMs: number = wallMs()): string {
  if (blockedMs === null || blockedMs === Number.POSITIVE_INFINITY) return "until it is unblocked";
  const end = new Date(nowMs + blockedMs);
  // A block may last longer than dates reach.
  if (Number.isNaN(end.getTime())) return `for ${formatDuration(blockedMs)}`;
  const [day, time] = end.toISOString().split("T");
  return `for ${formatDuration(blockedMs)}, until ${day} ${time.slice(0, 8)} UTC`;
}
