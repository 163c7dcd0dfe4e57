// A limit in words, as `sluice rules list` prints it: `7/minute (slidingWindowLog)`. The service sends limits in the
// form of rule files: the algorithm, and its numbers by name.

import { safe } from "./colours.js";

const UNITS: readonly (readonly [ms: number, name: string, short: string])[] = [
  [86_400_000, "day", "d"],
  [3_600_000, "hour", "h"],
  [60_000, "minute", "m"],
  [1_000, "second", "s"],
];
const LENGTH_MAX = 120;

/** One limit: `{ tokenBucket: { … } }` is `burst of 20, then 5/second (tokenBucket)`. */
export function formatLimit(limit: object): string {
  const [[algorithm, numbers]] = Object.entries(limit) as [[string, Numbers]];
  const said = sayNumbers(numbers) ?? JSON.stringify(numbers).replaceAll('"', "");
  return safe(`${said} (${algorithm})`, LENGTH_MAX);
}

interface Numbers {
  readonly limit?: number;
  readonly windowMs?: number;
  readonly permitMs?: number;
  readonly period?: unknown;
  readonly capacity?: number;
  readonly refill?: { readonly amount: number; readonly everyMs: number };
  readonly ratePerSecond?: number;
  readonly queueSize?: number;
}

/** Undefined for an algorithm that is not known here. */
function sayNumbers(numbers: Numbers): string | undefined {
  const { limit, windowMs, permitMs, period, capacity, refill, ratePerSecond, queueSize } = numbers;
  if (refill !== undefined) {
    return `burst of ${capacity}, then ${refill.amount}/${sayUnit(refill.everyMs)}`;
  }
  if (ratePerSecond !== undefined) return `${ratePerSecond}/second, ${queueSize} queued`;
  if (windowMs !== undefined) return `${limit}/${sayUnit(windowMs)}`;
  if (permitMs !== undefined) return `${limit} at a time`;
  return typeof period === "string" ? `${limit}/${period}` : undefined;
}

/** As rates are written: `minute`, `5m`, `1500ms`. */
function sayUnit(ms: number): string {
  for (const [unitMs, name, short] of UNITS) {
    if (ms === unitMs) return name;
    if (ms % unitMs === 0) return `${ms / unitMs}${short}`;
  }
  return `${ms}ms`;
}
