// Limits as the scripts read them. Everything about a limit that Lua needs, and nothing else, as one
// JSON object; a calendar quota brings the ends of the periods around now, because Lua knows no
// calendar.

import { periodAt } from "../../../algorithms/calendar.js";
import { lifeMs } from "../../../algorithms/entries.js";
import { keyOffsetMs } from "../../../algorithms/fixed-window.js";
import { UNITS_MAX } from "../../../algorithms/numbers.js";
import { SluiceError } from "../../../base/errors.js";
import {
  type FixedWindowLimit,
  isShaper,
  type Limit,
  type QuotaLimit,
} from "../../../limits/limits.js";

const written = new WeakMap<Limit, string>();
const quotas = new WeakMap<QuotaLimit, { startMs: number; endMs: number; json: string }>();

/** The limit as JSON. `nowMs` is the best guess of the server's time. */
export function toJson(limit: Limit, nowMs: number): string {
  if (limit.algorithm === "quota") return quotaToJson(limit, nowMs);
  const known = written.get(limit);
  if (known !== undefined) return known;
  const json = JSON.stringify({
    kind: limit.algorithm,
    limit: limit.capacity,
    ...numbersOf(limit),
  });
  written.set(limit, json);
  return json;
}

/** By how much the windows of this key are shifted; 0 for most limits. */
export function shiftMsOf(limit: Limit, key: string): number {
  return isShifted(limit) ? keyOffsetMs(key, limit.windowMs) : 0;
}

/** Whether each key has windows of its own. */
export function isShifted(limit: Limit): limit is FixedWindowLimit {
  return limit.algorithm === "fixedWindow" && limit.align === "key";
}

/** Whether a counter of this limit is a list of entries, and so no single value. */
export function isList({ algorithm }: Limit): boolean {
  return algorithm === "slidingWindowLog" || algorithm === "concurrency";
}

function numbersOf(limit: Exclude<Limit, QuotaLimit>): Record<string, unknown> {
  switch (limit.algorithm) {
    case "tokenBucket":
    case "leakyBucket": {
      const { ticksPerMs, ticksPerUnit, fullTicks, debtTicksMax } = limit;
      return { ticksPerMs, ticksPerUnit, fullTicks, debtTicksMax, delays: isShaper(limit) };
    }
    case "fixedWindow": {
      const { windowMs, usedMax, align } = limit;
      return { windowMs, usedMax, first: align === "first" };
    }
    case "slidingWindowCounter":
      return { windowMs: limit.windowMs, usedMax: limit.usedMax };
    case "slidingWindowLog":
    case "concurrency":
      return { lifeMs: lifeMs(limit), unitsMax: UNITS_MAX };
    case "sketch":
      throw new SluiceError("SLUICE_LIMIT_INVALID", "a sketch is counted in memory, not in Redis");
  }
}

/** The period of now, the one before and the one after: clocks may differ by a day. */
function quotaToJson(limit: QuotaLimit, nowMs: number): string {
  const known = quotas.get(limit);
  if (known !== undefined && nowMs >= known.startMs && nowMs < known.endMs) return known.json;
  const { calendar } = limit;
  const period = periodAt(calendar, nowMs);
  const before = periodAt(calendar, Math.max(0, period.startMs - 1));
  const after = periodAt(calendar, period.endMs);
  const json = JSON.stringify({
    kind: limit.algorithm,
    limit: limit.capacity,
    usedMax: limit.usedMax,
    start: before.startMs,
    ends: [before.endMs, period.endMs, after.endMs],
  });
  quotas.set(limit, { startMs: period.startMs, endMs: period.endMs, json });
  return json;
}
