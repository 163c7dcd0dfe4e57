// Times on the axis of a run.

import { formatDuration } from "../../../ui/formats/format.js";

/** `0:00`, `5:59`, `1:00:00`; below a minute in all `12.5 s`. */
export function formatClock(atMs: number, durationMs: number): string {
  if (durationMs <= 60_000) return `${(atMs / 1_000).toFixed(durationMs <= 10_000 ? 1 : 0)} s`;
  const seconds = Math.floor(atMs / 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  if (durationMs > 3_600_000) return `${hours}:${two(minutes)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

/** A share of a run as a length of the style sheet. */
export function toPercent(share: number): string {
  return `${(100 * Math.min(1, Math.max(0, share))).toFixed(3)}%`;
}

/** `2 s`, `1 min`, `1 h`: a length that was chosen. */
export function formatLength(ms: number): string {
  if (ms === 60_000) return "1 min";
  return ms === 3_600_000 ? "1 h" : formatDuration(ms);
}
