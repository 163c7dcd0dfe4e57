// Fixed windows, calendar quotas and sketches: a count for the current window. All are decided by the same
// arithmetic; they differ only in where a window begins and ends, and a sketch in how a store finds the count. A window that starts with the first
// request is identified by its end in milliseconds, any other by its number.

import { spreadHash } from "../base/spread-hash.js";
import { type Period, periodAt } from "./calendar.js";
import type { FixedWindowLimit, QuotaLimit, SketchLimit } from "./limit.js";
import { IN_UNITS, unitsBack } from "./receipts.js";
import type { Algorithm, CarryTimes, Settlement, Step } from "./step.js";

/** The state of one key: what was used in which window. */
export interface WindowState {
  readonly window: number;
  readonly used: number;
}

type WindowLimit = FixedWindowLimit | QuotaLimit | SketchLimit;

/** Fixed window, calendar quota and sketch. The mark of a charge is its window. */
export const window: Algorithm<WindowState, WindowLimit> = {
  idle: { window: 0, used: 0 },
  charge,
  force,
  refund,
  grant,
  inUse: (state, limit, mark, nowMs) =>
    mark === windowAt(state, limit, nowMs) ? usedAt(state, limit, nowMs) : 0,
  measure: () => IN_UNITS,
  share: (state, limit, nowMs) => usedAt(state, limit, nowMs) / limit.capacity,
  carry,
};

/**
 * How far the windows of `key` are shifted under `align: "key"`: the same in every process, so
 * that processes that share a store agree. Add it to the time that the algorithm is given.
 */
export function keyOffsetMs(key: string, windowMs: number): number {
  return Math.floor(spreadHash(key) * (windowMs / 2 ** 32));
}

function charge(
  state: WindowState,
  limit: WindowLimit,
  cost: number,
  nowMs: number,
): Step<WindowState> {
  const window = windowAt(state, limit, nowMs);
  const used = usedIn(state, window);
  const usedAfter = used + cost;
  const allowed = usedAfter <= limit.capacity;
  const takes = allowed && cost > 0;
  const untilEndMs = endMsOf(window, limit, nowMs) - nowMs;
  return {
    allowed,
    remaining: Math.max(0, limit.capacity - (allowed ? usedAfter : used)),
    retryAfterMs: allowed ? 0 : cost > limit.capacity ? Number.POSITIVE_INFINITY : untilEndMs,
    resetMs: (allowed ? usedAfter : used) > 0 ? untilEndMs : 0,
    delayMs: 0,
    state: takes || state.window > window ? { window, used: allowed ? usedAfter : used } : state,
    mark: window,
    before: used,
  };
}

// A window from the future counts as this one: a clock that stepped back locks no caller out.
function usedIn(state: WindowState, window: number): number {
  return state.window >= window ? state.used : 0;
}

function usedAt(state: WindowState, limit: WindowLimit, nowMs: number): number {
  return usedIn(state, windowAt(state, limit, nowMs));
}

function force(state: WindowState, limit: WindowLimit, cost: number, nowMs: number): WindowState {
  const used = Math.min(usedAt(state, limit, nowMs) + cost, limit.usedMax);
  return { window: windowAt(state, limit, nowMs), used };
}

function refund(
  state: WindowState,
  limit: WindowLimit,
  settlement: Settlement,
  nowMs: number,
): WindowState {
  const window = windowAt(state, limit, nowMs);
  const back = unitsBack(settlement);
  // What was charged to a window that has ended is gone with it. So is what was charged to a window
  // in the future, which means that the clock stepped back.
  if (settlement.receipt.mark !== window || back === 0) return state;
  return { window, used: Math.max(0, usedIn(state, window) - back) };
}

function grant(state: WindowState, limit: WindowLimit, cost: number, nowMs: number): WindowState {
  const used = Math.max(0, usedAt(state, limit, nowMs) - cost);
  return { window: windowAt(state, limit, nowMs), used };
}

function carry(
  state: WindowState,
  from: WindowLimit,
  to: WindowLimit,
  { fromMs, toMs }: CarryTimes,
): WindowState {
  const used = Math.min(usedAt(state, from, fromMs), to.capacity);
  if (!startsWithFirst(to)) return { window: windowAt(state, to, toMs), used };
  // The current window continues, but for no longer than a window of the new limit.
  const leftMs = endMsOf(windowAt(state, from, fromMs), from, fromMs) - fromMs;
  return { window: toMs + Math.min(leftMs, to.windowMs), used };
}

function windowAt(state: WindowState, limit: WindowLimit, nowMs: number): number {
  if (limit.algorithm === "quota") return currentPeriod(limit, nowMs).index;
  if (limit.align !== "first") return Math.floor(nowMs / limit.windowMs);
  // An end farther away than a whole window was written by a clock that was ahead.
  const endMs = nowMs + limit.windowMs;
  return state.used > 0 && state.window > nowMs ? Math.min(state.window, endMs) : endMs;
}

function endMsOf(window: number, limit: WindowLimit, nowMs: number): number {
  if (limit.algorithm === "quota") return currentPeriod(limit, nowMs).endMs;
  return limit.align === "first" ? window : (window + 1) * limit.windowMs;
}

function startsWithFirst(limit: WindowLimit): limit is FixedWindowLimit {
  return limit.algorithm === "fixedWindow" && limit.align === "first";
}

// Finding a period takes microseconds, and the same one is asked for again and again.
const latestPeriods = new WeakMap<QuotaLimit, Period>();

/** The period of a quota that holds `nowMs`. */
export function currentPeriod(limit: QuotaLimit, nowMs: number): Period {
  const latest = latestPeriods.get(limit);
  if (latest !== undefined && nowMs >= latest.startMs && nowMs < latest.endMs) return latest;
  const period = periodAt(limit.calendar, nowMs);
  latestPeriods.set(limit, period);
  return period;
}
