// The sliding window counter: the count of the window before, weighted by the share of it that
// still lies in the rolling window, plus the count of this one. Two numbers for each key stand in
// for a log. The weighted part is rounded up to whole units, which makes the comparison exact.

import type { SlidingWindowCounterLimit } from "./limit.js";
import { IN_UNITS, unitsBack } from "./receipts.js";
import type { Algorithm, CarryTimes, Settlement, Step } from "./step.js";
import { multiplyDivideUp } from "./whole-numbers.js";

/** The state of one key: counts of the window with this number and of the one before. */
export interface CounterState {
  readonly window: number;
  readonly current: number;
  readonly previous: number;
}

type CounterLimit = SlidingWindowCounterLimit;

/** Sliding window counter. The mark of a charge is the number of its window. */
export const slidingCounter: Algorithm<CounterState, CounterLimit> = {
  idle: { window: 0, current: 0, previous: 0 },
  charge,
  force,
  refund,
  grant,
  inUse: (state, limit, mark, nowMs) => {
    const { window, current, previous } = slideTo(state, limit, nowMs);
    return mark === window ? current : mark === window - 1 ? previous : 0;
  },
  measure: () => IN_UNITS,
  share: (state, limit, nowMs) => usedAt(state, limit, nowMs) / limit.capacity,
  carry,
};

/** The same counts as they stand in the window of `nowMs`. */
function slideTo(state: CounterState, limit: CounterLimit, nowMs: number): CounterState {
  const window = Math.floor(nowMs / limit.windowMs);
  if (state.window === window) return state;
  // A window from the future counts as this one: a clock that stepped back locks no caller out.
  if (state.window > window) return { ...state, window };
  if (state.window === window - 1) return { window, current: 0, previous: state.current };
  return { window, current: 0, previous: 0 };
}

function charge(
  state: CounterState,
  limit: CounterLimit,
  cost: number,
  nowMs: number,
): Step<CounterState> {
  const counts = slideTo(state, limit, nowMs);
  const leftMs = limit.windowMs - (nowMs % limit.windowMs);
  const weighted = multiplyDivideUp(counts.previous, leftMs, limit.windowMs);
  const used = weighted + counts.current;
  const allowed = used + cost <= limit.capacity;
  const takes = allowed && cost > 0;
  const current = takes ? counts.current + cost : counts.current;
  return {
    allowed,
    remaining: Math.max(0, limit.capacity - weighted - current),
    retryAfterMs: allowed ? 0 : waitMs(counts, limit, cost, leftMs),
    resetMs: current > 0 ? leftMs + limit.windowMs : counts.previous > 0 ? leftMs : 0,
    delayMs: 0,
    state: takes || state.window > counts.window ? { ...counts, current } : state,
    mark: counts.window,
    before: counts.current,
  };
}

/** Until a refused cost passes: in this window, in the next, or with the one after. */
function waitMs(counts: CounterState, limit: CounterLimit, cost: number, leftMs: number): number {
  if (cost > limit.capacity) return Number.POSITIVE_INFINITY;
  const roomNow = limit.capacity - counts.current - cost;
  if (roomNow >= 0) return leftMs - longestLeftMs(counts.previous, roomNow, limit.windowMs);
  const roomNext = limit.capacity - cost;
  if (counts.current <= roomNext) return leftMs;
  return leftMs + limit.windowMs - longestLeftMs(counts.current, roomNext, limit.windowMs);
}

/** The most milliseconds of a window that may be left so that `count`, weighted, fits `room`. */
function longestLeftMs(count: number, room: number, windowMs: number): number {
  // The quotient is a double's guess, at most one off; the exact comparison settles it.
  const guessMs = Math.floor(windowMs * (room / count));
  if (multiplyDivideUp(count, guessMs, windowMs) > room) return guessMs - 1;
  return multiplyDivideUp(count, guessMs + 1, windowMs) > room ? guessMs : guessMs + 1;
}

function usedAt(state: CounterState, limit: CounterLimit, nowMs: number): number {
  const { current, previous } = slideTo(state, limit, nowMs);
  const leftMs = limit.windowMs - (nowMs % limit.windowMs);
  return current + multiplyDivideUp(previous, leftMs, limit.windowMs);
}

function force(
  state: CounterState,
  limit: CounterLimit,
  cost: number,
  nowMs: number,
): CounterState {
  const counts = slideTo(state, limit, nowMs);
  return { ...counts, current: Math.min(counts.current + cost, limit.usedMax) };
}

function refund(
  state: CounterState,
  limit: CounterLimit,
  settlement: Settlement,
  nowMs: number,
): CounterState {
  const { receipt } = settlement;
  const counts = slideTo(state, limit, nowMs);
  const back = unitsBack(settlement);
  if (back === 0) return state;
  if (receipt.mark === counts.window) {
    return { ...counts, current: Math.max(0, counts.current - back) };
  }
  if (receipt.mark === counts.window - 1) {
    return { ...counts, previous: Math.max(0, counts.previous - back) };
  }
  return state;
}

function grant(
  state: CounterState,
  limit: CounterLimit,
  cost: number,
  nowMs: number,
): CounterState {
  const counts = slideTo(state, limit, nowMs);
  return { ...counts, current: Math.max(0, counts.current - cost) };
}

function carry(
  state: CounterState,
  from: CounterLimit,
  to: CounterLimit,
  { fromMs, toMs }: CarryTimes,
): CounterState {
  // Under another window it is unknown when the units were used: they count as just now.
  const counts = slideTo(state, from, fromMs);
  if (from.windowMs === to.windowMs) {
    const current = Math.min(counts.current, to.capacity);
    return { ...counts, current, previous: Math.min(counts.previous, to.capacity) };
  }
  const window = Math.floor(toMs / to.windowMs);
  return { window, current: Math.min(usedAt(state, from, fromMs), to.capacity), previous: 0 };
}
