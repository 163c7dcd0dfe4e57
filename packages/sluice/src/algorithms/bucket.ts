// Token and leaky buckets, one arithmetic for both. A bucket is its debt: the ticks that must
// still flow back until it is full, known at an instant. A millisecond pays `ticksPerMs` of it, a
// unit costs `ticksPerUnit`, all whole numbers, so nothing drifts and a bucket at rest needs no
// timer: debt in the past has been paid. Debt plus instant is the theoretical arrival time.

import type { BucketLimit } from "../limits.js";
import type { Algorithm, Settlement, Step } from "./step.js";
import { divideDown, divideUp } from "./whole.js";

/** The state of one bucket. */
export interface BucketState {
  /** What had to flow back until full, at `atMs`. */
  readonly debtTicks: number;
  readonly atMs: number;
}

/** Token bucket and leaky bucket. The mark of a charge is the debt in ticks before it. */
export const bucket: Algorithm<BucketState, BucketLimit> = {
  idle: { debtTicks: 0, atMs: 0 },
  charge,
  force,
  giveBack,
  grant,
  used: debtAt,
  share: (state, limit, nowMs) => debtAt(state, limit, nowMs) / limit.fullTicks,
  carry,
};

/** The debt at `nowMs`. Time that runs backward does not pass. */
function debtAt(state: BucketState, limit: BucketLimit, nowMs: number): number {
  if (nowMs <= state.atMs) return state.debtTicks;
  return Math.max(0, state.debtTicks - (nowMs - state.atMs) * limit.ticksPerMs);
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
      // Exact, not rounded: departures are 1/rate apart even where that is no whole millisecond.
      delayMs: cost > 0 && delays(limit) ? debt / ticksPerMs : 0,
      state: { debtTicks: debtAfter, atMs: nowMs },
      mark: debt,
    };
  }
  return {
    allowed: false,
    remaining: Math.max(0, divideDown(fullTicks - debt, ticksPerUnit)),
    retryAfterMs:
      cost > limit.limit ? Number.POSITIVE_INFINITY : divideUp(debtAfter - fullTicks, ticksPerMs),
    resetMs: divideUp(debt, ticksPerMs),
    delayMs: 0,
    // A clock that stepped back: the debt stands, but counts from now, or it would lock out.
    state: nowMs < state.atMs ? { debtTicks: debt, atMs: nowMs } : state,
    mark: debt,
  };
}

function delays(limit: BucketLimit): boolean {
  return limit.algorithm === "leakyBucket" && limit.mode === "shape";
}

function force(state: BucketState, limit: BucketLimit, cost: number, nowMs: number): BucketState {
  const debt = debtAt(state, limit, nowMs) + cost * limit.ticksPerUnit;
  return { debtTicks: Math.min(debt, limit.debtTicksMax), atMs: nowMs };
}

function giveBack(
  state: BucketState,
  limit: BucketLimit,
  settlement: Settlement,
  nowMs: number,
): BucketState {
  const { receipt, kept } = settlement;
  const debt = debtAt(state, limit, nowMs);
  if (delays(limit) && !isLastInQueue(state, limit, settlement)) return state;
  const unusedTicks = (receipt.cost - kept) * limit.ticksPerUnit;
  // With only the kept cost charged, the bucket would have been full after this many ticks. What
  // has flowed since would have been lost then, so it has paid for a part of the unused cost.
  const ticksToFull = receipt.mark + kept * limit.ticksPerUnit;
  const ticksPassed = Math.max(0, nowMs - receipt.atMs) * limit.ticksPerMs;
  const madeUpTicks = Math.max(0, ticksPassed - ticksToFull);
  const backTicks = Math.max(0, unusedTicks - madeUpTicks);
  const debtTicks = Math.max(0, debt - Math.min(backTicks, settlement.usedMax));
  return { debtTicks, atMs: nowMs };
}

/** Whether nobody queued behind the charge: whoever did has been told when to leave already. */
function isLastInQueue(state: BucketState, limit: BucketLimit, settlement: Settlement): boolean {
  const { receipt } = settlement;
  const ticksAfterCharge = receipt.mark + receipt.cost * limit.ticksPerUnit;
  return state.debtTicks - ticksAfterCharge === (receipt.atMs - state.atMs) * limit.ticksPerMs;
}

function grant(state: BucketState, limit: BucketLimit, cost: number, nowMs: number): BucketState {
  const debt = debtAt(state, limit, nowMs) - cost * limit.ticksPerUnit;
  return { debtTicks: Math.max(0, debt), atMs: nowMs };
}

function carry(state: BucketState, from: BucketLimit, to: BucketLimit, nowMs: number): BucketState {
  // Rounded up to whole ticks of the new limit: a reload never refills anybody, not even a tick.
  const units = debtAt(state, from, nowMs) / from.ticksPerUnit;
  const debtTicks = Math.min(Math.ceil(units * to.ticksPerUnit), to.fullTicks);
  return { debtTicks, atMs: nowMs };
}
