// The windows of limits that regions merge, named by the instant at which they end, by the clock of a store. Two
// regions speak of the same window if it has the same end, whatever their clocks say at the moment.

import { currentPeriod, keyOffsetMs } from "../../../algorithms/fixed-window.js";
import { fixedWindow, isShaper, type Limit, made, quota } from "../../../limits/limits.js";

/** How long a register of a limit without windows counts; what comes later is counted in the next one. */
const REGISTER_MS = 600_000;
/** More units than any limit has: a register never refuses. */
const REGISTER_UNITS = 2 ** 50;
/** Counts of other regions arrive after a shorter window has ended. */
const WINDOW_MS_MIN = 1_000;

/** Whether room comes back at the end of a window, all together, and not bit by bit. */
export function hasWindows({ algorithm }: Limit): boolean {
  return (
    algorithm === "fixedWindow" || algorithm === "quota" || algorithm === "slidingWindowCounter"
  );
}

/** The end of the window that holds `atMs`; of a limit without windows, of the register's. Comparable for one key only. */
export function windowEndMs(limit: Limit, key: string, atMs: number): number {
  if (limit.algorithm === "quota") return currentPeriod(limit, atMs).endMs;
  const windowMs = windowMsOf(limit);
  const isShifted = limit.algorithm === "fixedWindow" && limit.align === "key";
  const shiftedMs = isShifted ? atMs + keyOffsetMs(key, windowMs) : atMs;
  const endMs = (Math.floor(shiftedMs / windowMs) + 1) * windowMs;
  return isShifted ? endMs - keyOffsetMs(key, windowMs) : endMs;
}

/** How long windows are; of a quota, the one that ends then. */
export function windowMsOf(limit: Limit, endMs = 0): number {
  switch (limit.algorithm) {
    case "fixedWindow":
    case "slidingWindowCounter":
      return limit.windowMs;
    case "quota":
      return endMs - currentPeriod(limit, endMs - 1).startMs;
    default:
      return REGISTER_MS;
  }
}

/** The limit of a register: it counts in the same windows, and never refuses. */
export function registerLimit(limit: Limit): Limit {
  if (limit.algorithm === "quota") {
    const { period, calendar } = limit;
    return made({ ...quota({ limit: REGISTER_UNITS, period }), calendar });
  }
  const align = limit.algorithm === "fixedWindow" ? limit.align : "epoch";
  return fixedWindow({ limit: REGISTER_UNITS, windowMs: windowMsOf(limit), align });
}

/** Why regions can't merge the counts of a limit, in words; undefined if they can. */
export function whyNotMerged(limit: Limit): string | undefined {
  if (isShaper(limit)) {
    return "is a leakyBucket that shapes, which can't be merged: each region would space its own requests; use mode: meter or across: central";
  }
  if (limit.algorithm === "sketch") {
    return "is a sketch, which can't be merged: it is counted in this process only; use a fixedWindow";
  }
  if (limit.algorithm === "slidingWindowLog") {
    return "is a slidingWindowLog, which can't be merged: it is a list, not a count; use a slidingWindowCounter, or across: central";
  }
  if (limit.algorithm === "concurrency") {
    return "is a concurrency, which can't be merged: it is a list, not a count; use across: central";
  }
  if (limit.algorithm === "fixedWindow" && limit.align === "first") {
    return "starts with the first request, which can't be merged: each region would have windows of its own; use align: epoch or key";
  }
  if ("windowMs" in limit && limit.windowMs < WINDOW_MS_MIN) {
    return `has windows of ${limit.windowMs} ms, too short to be merged: they end before the counts of other regions arrive; use at least ${WINDOW_MS_MIN} ms, or across: split`;
  }
  return undefined;
}
