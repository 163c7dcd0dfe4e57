// How the state of one key is stored in a slot. Where the numbers of a limit allow it, a state is packed into fewer
// doubles without loss: a bucket into the instant at which it will be full, a window and its count into one whole
// number. Otherwise each number has a double.

import {
  type BucketState,
  bucket,
  debtTicksAfterStep,
  doublingsOf,
} from "../../../algorithms/bucket.js";
import { type WindowState, window } from "../../../algorithms/fixed-window.js";
import { type CounterState, slidingCounter } from "../../../algorithms/sliding-window-counter.js";
import type { Algorithm } from "../../../algorithms/step.js";
import { divideDown, divideUp } from "../../../algorithms/whole-numbers.js";
import type { Verdict } from "../../../base/decision.js";
import type {
  BucketLimit,
  EntryLimit,
  FixedWindowLimit,
  Limit,
  QuotaLimit,
  SketchLimit,
  SlidingWindowCounterLimit,
} from "../../../limits/limits.js";

/** An algorithm together with the layout of its state. */
export interface Codec<State, L> {
  readonly algorithm: Algorithm<State, L>;
  /** Doubles for each key. */
  readonly stateDoubles: number;
  read(doubles: Float64Array, at: number, limit: L, nowMs: number): State;
  write(doubles: Float64Array, at: number, limit: L, state: State): void;
  /**
   * Reads, charges and writes in one step: what the algorithm would answer to a charge that passes. Undefined for other
   * charges, and nothing is changed then. Absent where it would save little.
   */
  pass?(
    doubles: Float64Array,
    at: number,
    limit: L,
    cost: number,
    nowMs: number,
  ): Verdict | undefined;
}

/** Limits whose state is a few numbers for each key: all but logs, permits and sketches. */
export type ValueLimit = Exclude<Limit, EntryLimit | SketchLimit>;

/** The layout for `limit`. */
export function codecOf(limit: ValueLimit): Codec<unknown, ValueLimit> {
  return chooseCodec(limit) as Codec<unknown, ValueLimit>;
}

function chooseCodec(limit: ValueLimit): unknown {
  switch (limit.algorithm) {
    case "tokenBucket":
    case "leakyBucket":
      return limit.compact ? compactBucket : wideBucket;
    case "fixedWindow":
    case "quota":
      return limit.span > 0 ? compactWindow : wideWindow;
    case "slidingWindowCounter":
      return limit.span > 0 ? compactCounter : wideCounter;
  }
}

// The theoretical arrival time in ticks, 0 for a bucket that was full. The exponent records how far beyond full
// the debt was when it was written: an arrival time farther away than that can only come from a clock
// that stepped back. Scaling by a power of two loses no precision.
const DOUBLING_SCALE = 2 ** 54;

const compactBucket: Codec<BucketState, BucketLimit> = {
  algorithm: bucket,
  stateDoubles: 1,
  read: (doubles, at, limit, nowMs) => {
    const nowTicks = nowMs * limit.ticksPerMs;
    const arrivalTicks = doubles[at];
    const debtTicks = arrivalTicks > nowTicks ? arrivalTicks - nowTicks : 0;
    if (debtTicks <= limit.fullTicks) return { debtTicks, atMs: nowMs };
    return readBeyondFull(arrivalTicks, limit, nowMs);
  },
  write: (doubles, at, limit, state) => {
    const { debtTicks, atMs } = state;
    const arrivalTicks = debtTicks === 0 ? 0 : atMs * limit.ticksPerMs + debtTicks;
    doubles[at] =
      debtTicks <= limit.fullTicks
        ? arrivalTicks
        : arrivalTicks * DOUBLING_SCALE ** doublingsOf(debtTicks, limit);
  },
  pass: (doubles, at, limit, cost, nowMs) => {
    const { ticksPerMs, ticksPerUnit, fullTicks } = limit;
    const nowTicks = nowMs * ticksPerMs;
    const arrivalTicks = doubles[at];
    const debtTicks = arrivalTicks > nowTicks ? arrivalTicks - nowTicks : 0;
    const debtAfter = debtTicks + cost * ticksPerUnit;
    if (debtAfter > fullTicks || cost === 0 || limit.algorithm !== "tokenBucket") return undefined;
    doubles[at] = nowTicks + debtAfter;
    return toPassed(limit, debtAfter);
  },
};

function toPassed(
  { capacity, fullTicks, ticksPerUnit, ticksPerMs }: BucketLimit,
  debtTicks: number,
): Verdict {
  return {
    allowed: true,
    limit: capacity,
    remaining: divideDown(fullTicks - debtTicks, ticksPerUnit),
    retryAfterMs: 0,
    resetMs: divideUp(debtTicks, ticksPerMs),
    delayMs: 0,
    source: "memory",
  };
}

function readBeyondFull(scaled: number, limit: BucketLimit, nowMs: number): BucketState {
  let [arrivalTicks, doublings] = [scaled, 0];
  for (; arrivalTicks >= DOUBLING_SCALE; doublings++) arrivalTicks /= DOUBLING_SCALE;
  const debtTicks = Math.max(0, arrivalTicks - nowMs * limit.ticksPerMs);
  const debtTicksMax = debtTicksAfterStep(doublings, limit);
  if (debtTicks <= debtTicksMax) return { debtTicks, atMs: nowMs };
  // Written by a clock that was ahead: a millisecond is enough for the algorithm to notice.
  return { debtTicks: debtTicksMax, atMs: nowMs + 1 };
}

const wideBucket: Codec<BucketState, BucketLimit> = {
  algorithm: bucket,
  stateDoubles: 2,
  read: (doubles, at) => ({ debtTicks: doubles[at], atMs: doubles[at + 1] }),
  write: (doubles, at, _limit, state) => {
    doubles[at] = state.debtTicks;
    doubles[at + 1] = state.atMs;
  },
  pass: (doubles, at, limit, cost, nowMs) => {
    const { ticksPerMs, ticksPerUnit, fullTicks } = limit;
    const elapsedMs = nowMs - doubles[at + 1];
    const debtTicks = Math.max(0, doubles[at] - elapsedMs * ticksPerMs);
    const debtAfter = debtTicks + cost * ticksPerUnit;
    // After a clock stepped back the algorithm bounds the debt.
    const isPlain = elapsedMs >= 0 && cost > 0 && limit.algorithm === "tokenBucket";
    if (debtAfter > fullTicks || !isPlain) return undefined;
    doubles[at] = debtAfter;
    doubles[at + 1] = nowMs;
    return toPassed(limit, debtAfter);
  },
};

const compactWindow: Codec<WindowState, FixedWindowLimit | QuotaLimit> = {
  algorithm: window,
  stateDoubles: 1,
  read: (doubles, at, limit) => {
    const packed = doubles[at];
    const window = Math.floor(packed / limit.span);
    return { window, used: packed - window * limit.span };
  },
  write: (doubles, at, limit, state) => {
    doubles[at] = state.window * limit.span + state.used;
  },
};

const wideWindow: Codec<WindowState, FixedWindowLimit | QuotaLimit> = {
  algorithm: window,
  stateDoubles: 2,
  read: (doubles, at) => ({ window: doubles[at], used: doubles[at + 1] }),
  write: (doubles, at, _limit, state) => {
    doubles[at] = state.window;
    doubles[at + 1] = state.used;
  },
};

const compactCounter: Codec<CounterState, SlidingWindowCounterLimit> = {
  algorithm: slidingCounter,
  stateDoubles: 2,
  read: (doubles, at, limit) => {
    const packed = doubles[at];
    const window = Math.floor(packed / limit.span);
    return { window, current: packed - window * limit.span, previous: doubles[at + 1] };
  },
  write: (doubles, at, limit, state) => {
    doubles[at] = state.window * limit.span + state.current;
    doubles[at + 1] = state.previous;
  },
};

const wideCounter: Codec<CounterState, SlidingWindowCounterLimit> = {
  algorithm: slidingCounter,
  stateDoubles: 3,
  read: (doubles, at) => ({
    window: doubles[at],
    current: doubles[at + 1],
    previous: doubles[at + 2],
  }),
  write: (doubles, at, _limit, state) => {
    doubles[at] = state.window;
    doubles[at + 1] = state.current;
    doubles[at + 2] = state.previous;
  },
};
