// What every algorithm takes and gives. An algorithm is a handful of pure functions over the
// state of one key: it never waits, never reads a clock and never changes what it was given.
// A store holds the states; these functions say what becomes of them.

/** The answer to one charge, and the state that holds once it is taken. */
export interface Step<State> {
  readonly allowed: boolean;
  /** Whole units left: after the charge if it was allowed, as they stand if not. Never negative. */
  readonly remaining: number;
  /** 0 if allowed; else until this cost would pass if nothing else is spent; Infinity if it never can. */
  readonly retryAfterMs: number;
  /** Until the full quota is back. */
  readonly resetMs: number;
  /** How long an admitted request has to wait before it continues. Only shapers delay. */
  readonly delayMs: number;
  /** The state to keep. Of a refused charge: the same one, or its like on a clock that went back. */
  readonly state: State;
  /** What was charged, for a receipt: a window's number, an entry's expiry; 0 for a bucket. */
  readonly mark: number;
  /** What was in use of it before, in the algorithm's own measure. */
  readonly before: number;
}

/** Presented once to refund a charge. */
export interface Receipt {
  readonly cost: number;
  /** When it was charged. */
  readonly atMs: number;
  /** {@link Step.mark} of the charge. */
  readonly mark: number;
  /** {@link Step.before} of the charge. */
  readonly before: number;
  /** By how much other refunds and grants have lowered it; see receipts.ts. */
  readonly lowered?: number;
}

/** What remains of a charge: `kept` of `receipt.cost` units stay charged. */
export interface Settlement {
  readonly receipt: Receipt;
  /** Between 0 and the receipt's cost. */
  readonly kept: number;
}

/** How an algorithm measures use. */
export interface Measure {
  /** What one unit is in it. */
  readonly perUnit: number;
  /** How much of it flows back in a millisecond. */
  readonly perMs: number;
}

/** Now, by the old limit's time and by the new one's: windows aligned by key have their own. */
export interface CarryTimes {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One algorithm. `State` is what a store keeps for each key; `idle` is a key never seen. */
export interface Algorithm<State, L> {
  readonly idle: State;
  /** Decides a charge. */
  charge(state: State, limit: L, cost: number, nowMs: number): Step<State>;
  /** Charges without asking: the excess of a commit becomes debt. */
  force(state: State, limit: L, cost: number, nowMs: number): State;
  /**
   * Refunds the unused part of an earlier charge: never more than if the charge had not happened. Returns the
   * same state if there is nothing to refund.
   */
  refund(state: State, limit: L, settlement: Settlement, nowMs: number): State;
  /** An operator's grant of `cost` units, capped at full. */
  grant(state: State, limit: L, cost: number, nowMs: number): State;
  /** What is in use of the thing that was charged with this mark, in the algorithm's measure. */
  inUse(state: State, limit: L, mark: number, nowMs: number): number;
  /** That measure. */
  measure(limit: L): Measure;
  /** The share of the limit in use now: 0 is idle, 1 is exhausted, above 1 is debt. */
  share(state: State, limit: L, nowMs: number): number;
  /** Translates state written under other numbers: the units used carry over, clipped to full. */
  carry(state: State, from: L, to: L, times: CarryTimes): State;
}
