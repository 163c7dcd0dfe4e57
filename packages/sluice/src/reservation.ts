// What a caller holds after an admission that is not final: a cost that is settled later, or one
// of N concurrent places. Each gives back once; what it holds is known to the store by receipts.

import type { Decision } from "./decision.js";

/** A value now, or a promise of it, by whether the limiter's store answers at once. */
export type Answer<T, IsSync extends boolean> = IsSync extends true ? T : T | Promise<T>;

/**
 * A cost that is held now and settled later. Abandoned, it stays spent. If the decision was a
 * refusal nothing is held: `cancel` does nothing and `commit` is an error.
 */
export interface Reservation<IsSync extends boolean = true> extends Decision {
  /**
   * Settles the real cost. Less than reserved gives the rest back; more is never refused, the
   * excess is debt. A second settlement is an error.
   */
  commit(actualCost: number): Answer<void, IsSync>;
  /** The same at an explicit time. */
  commitAt(actualCost: number, time: { nowMs: number }): Answer<void, IsSync>;
  /** Gives everything back; does nothing once settled, so it may stand in a `finally`. */
  cancel(): Answer<void, IsSync>;
  /** The same at an explicit time. */
  cancelAt(time: { nowMs: number }): Answer<void, IsSync>;
}

/** One or more of N concurrent places, held until released or until it expires. */
export interface Permit<IsSync extends boolean = true> extends Decision {
  /** Gives the place back; does nothing the second time, after expiry, or if it was refused. */
  release(): Answer<void, IsSync>;
  /** The same at an explicit time. */
  releaseAt(time: { nowMs: number }): Answer<void, IsSync>;
}
