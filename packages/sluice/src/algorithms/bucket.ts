// Token and leaky buckets, one arithmetic for both. A bucket is its debt: the ticks that must
// still flow back until it is full, known at an instant. A millisecond pays `ticksPerMs` of it, a
// unit costs `ticksPerUnit`, all whole numbers, so nothing drifts and a bucket at rest needs no
// timer: debt in the past has been paid. Debt plus instant is the theoretical arrival time.

import type { BucketLimit } from "./limit.js";
import { standsFor } from "./receipts.js";
import type { Algorithm, CarryTimes, Receipt, Settlement, Step } from "./step.js";
import { divideDown, divideUp } from "./whole-numbers.js";

/** The state of one bucket. */
export interface BucketState {
  /** What had to flow back until full, at `atMs`. */
  readonly debtTicks: number;
  readonly atMs: number;
}

/** Token bucket and leaky bucket. Use is measured in ticks of debt. */
export const bucket: Algorithm<BucketState, BucketLimit> = {
  idle: { debtTicks: 0, atMs: 0 },
  charge,
  force,
  refund,
  grant,
  inUse: (state, limit, _mark, nowMs) => debtAt(state, limit, nowMs),
  measure: (limit) => ({ perUnit: limit.ticksPerUnit, perMs: limit.ticksPerMs }),
  share: (state, limit, nowMs) => debtAt(state, limit, nowMs) / limit.fullTicks,
  carry,
};

/** The most doublings that are distinguished. Debt beyond that is bounded only by `debtTicksMax`. */
const DOUBLINGS_MAX = 17;

/**
 * How often a full bucket has to be doubled to hold this debt. A store that keeps nothing but the instant at
 * which the bucket is full keeps this as well, so that it can recognise a clock that stepped back.
 */
export function doublingsOf(debtTicks: number, { fullTicks }: BucketLimit): number {
  let doublings = 0;
  while (doublings < DOUBLINGS_MAX && debtTicks > fullTicks * 2 ** doublings) doublings++;
  return doublings;
}

/** The most that a debt may become when the clock steps back: a full bucket's, doubled as often as given. */
export function debtTicksAfterStep(doublings: number, limit: BucketLimit): number {
  if (doublings === DOUBLINGS_MAX) return limit.debtTicksMax;
  return Math.min(limit.fullTicks * 2 ** doublings, limit.debtTicksMax);
}

/**
 * The debt at `nowMs`. A clock that stepped back adds to it, but never beyond a full bucket's, or twice
 * itself where it was more than that. A bucket that was full stays full.
 */
function debtAt(state: BucketState, limit: BucketLimit, nowMs: number): number {
  const debt = state.debtTicks - (nowMs - state.atMs) * limit.ticksPerMs;
  if (state.debtTicks === 0) return 0;
  if (nowMs >= state.atMs) return Math.max(0, debt);
  return Math.min(debt, debtTicksAfterStep(doublingsOf(state.debtTicks, limit), limit));
}

function charge(
  state: BucketState,
  limit: BucketLimit,
  cost: number,
  nowMs: number,
): Step<BucketState> {
  const { ticksPerMs, ticksPerUnit, fullTicks } = limit;
  const debt = debtAt(state, limit, nowMs);
  const debtAfter = debt + cost * ticksPerUnit;
  if (debtAfter <= fullTicks) {
    return {
      allowed: true,
      remaining: divideDown(fullTicks - debtAfter, ticksPerUnit),
      retryAfterMs: 0,
      resetMs: divideUp(debtAfter, ticksPerMs),
      // Exact, not rounded: departures are 1/rate apart even where that is not a whole millisecond.
      delayMs: cost > 0 && delays(limit) ? debt / ticksPerMs : 0,
      state: cost > 0 ? { debtTicks: debtAfter, atMs: nowMs } : countFromNow(state, debt, nowMs),
      mark: 0,
      before: debt,
    };
  }
  return {
    allowed: false,
    remaining: Math.max(0, divideDown(fullTicks - debt, ticksPerUnit)),
    retryAfterMs:
      cost > limit.capacity
        ? Number.POSITIVE_INFINITY
        : divideUp(debtAfter - fullTicks, ticksPerMs),
    resetMs: divideUp(debt, ticksPerMs),
    delayMs: 0,
    state: countFromNow(state, debt, nowMs),
    mark: 0,
    before: debt,
  };
}

/** The same state; after a clock stepped back its debt counts from now, or it would lock out. */
function countFromNow(state: BucketState, debtTicks: number, nowMs: number): BucketState {
  return nowMs < state.atMs ? { debtTicks, atMs: nowMs } : state;
}

function delays(limit: BucketLimit): boolean {
  return limit.algorithm === "leakyBucket" && limit.mode === "shape";
}

function force(state: BucketState, limit: BucketLimit, cost: number, nowMs: number): BucketState {
  const debt = debtAt(state, limit, nowMs) + cost * limit.ticksPerUnit;
  return { debtTicks: Math.min(debt, limit.debtTicksMax), atMs: nowMs };
}

function refund(
  state: BucketState,
  limit: BucketLimit,
  settlement: Settlement,
  nowMs: number,
): BucketState {
  const { receipt, kept } = settlement;
  const debt = debtAt(state, limit, nowMs);
  if (delays(limit) && !isLastInQueue(debt, limit, receipt, nowMs)) return state;
  const unusedTicks = (receipt.cost - kept) * limit.ticksPerUnit;
  const backTicks = Math.min(unusedTicks, standsFor(receipt, bucket.measure(limit), nowMs));
  if (backTicks === 0) return state;
  return { debtTicks: Math.max(0, debt - backTicks), atMs: nowMs };
}

/** The debt that the charge led to, less what was refunded of it since. */
function ticksAfter(receipt: Receipt, limit: BucketLimit): number {
  return receipt.before + receipt.cost * limit.ticksPerUnit - (receipt.lowered ?? 0);
}

/** Whether no request queued behind the charge: one that did already has its delay. */
function isLastInQueue(
  debtTicks: number,
  limit: BucketLimit,
  receipt: Receipt,
  nowMs: number,
): boolean {
  const passedTicks = (nowMs - receipt.atMs) * limit.ticksPerMs;
  return debtTicks === ticksAfter(receipt, limit) - passedTicks;
}

function grant(state: BucketState, limit: BucketLimit, cost: number, nowMs: number): BucketState {
  const debt = debtAt(state, limit, nowMs) - cost * limit.ticksPerUnit;
  return { debtTicks: Math.max(0, debt), atMs: nowMs };
}

function carry(
  state: BucketState,
  from: BucketLimit,
  to: BucketLimit,
  { fromMs, toMs }: CarryTimes,
): BucketState {
  // Rounded up to whole ticks of the new limit, so that a reload refills no key. The product is a
  // double's: beyond 2^53 it may be a tick off.
  const units = debtAt(state, from, fromMs) / from.ticksPerUnit;
  const debtTicks = Math.min(Math.ceil(units * to.ticksPerUnit), to.fullTicks);
  return { debtTicks, atMs: toMs };
}
