// The verdicts of leases, and how a holder of leases interprets those of the store.

import type { Verdict } from "../../base/decision.js";
import type { Outcome } from "../store.js";
import type { KeyLeases } from "./leases/key-leases.js";
import type { LeaseRow } from "./leases/lease-table.js";

/** An admission from a lease. The rest of the lease is a lower bound of what remains. */
export function toVerdict(
  row: LeaseRow,
  keyLeases: KeyLeases,
  remaining: number,
  atMs: number,
): Verdict {
  const resetMs = keyLeases.resetAtMs - atMs;
  return {
    allowed: true,
    limit: row.counter.limit.capacity,
    remaining,
    retryAfterMs: 0,
    resetMs: resetMs > 0 ? resetMs : 0,
    delayMs: 0,
    source: "lease",
  };
}

/** The outcome of a request of one charge that is not held. */
export function toOutcome(verdict: Verdict): Outcome {
  return { allowed: verdict.allowed, verdicts: [verdict], receipts: [] };
}

/** A verdict of the store, with what this process holds besides. */
export function withOwn(verdict: Verdict, units: number): Verdict {
  if (units === 0) return verdict;
  return { ...verdict, remaining: Math.min(verdict.limit, verdict.remaining + units) };
}
