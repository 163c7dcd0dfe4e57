// What a resilient store counts.

import type { BreakerState } from "../../base/circuit-breaker.js";

/** Statistics of a resilient store. */
export interface ResilientStats {
  /** `closed`: the store is asked. `open`: it is not. `half-open`: one request tries it. */
  readonly state: BreakerState;
  /** Since when the circuit breaker is open, in milliseconds since 1970; undefined if it is not. */
  readonly sinceMs: number | undefined;
  /** Calls of any verb that the store failed or did not answer in time. */
  readonly failures: number;
  /** Decisions that a policy made. */
  readonly fallbackDecisions: number;
  /** Decisions that the store admitted too late and that were refunded. */
  readonly lateRefunded: number;
  /** Settlements that wait until the store is back. */
  readonly settlingsWaiting: number;
  /** Settlements that were dropped: too many waited, or the store was closed before it took them. */
  readonly unsettled: number;
}
