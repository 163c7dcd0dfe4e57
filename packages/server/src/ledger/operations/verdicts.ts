// Verdicts of the ledger, as the library states them.

import type { CounterStatus, Verdict } from "sluice";
import type { Account } from "../accounts/account.js";

/** What an account answers to a cost. `remaining` is what is left now. */
export function toVerdict(
  { balance, granted, used, quota, endsAtMs }: Account,
  cost: number,
  { allowed, nowMs }: { allowed: boolean; nowMs: number },
): Verdict {
  const untilEndMs = Math.max(1, endsAtMs - nowMs);
  return {
    allowed,
    limit: granted,
    remaining: Math.max(0, balance),
    retryAfterMs: allowed ? 0 : cost > quota ? Number.POSITIVE_INFINITY : untilEndMs,
    resetMs: used > 0 ? untilEndMs : 0,
    delayMs: 0,
    source: "store",
  };
}

/** How an account stands. */
export function toStatus(account: Account, nowMs: number): CounterStatus {
  const allowed = account.balance >= 0;
  return { ...toVerdict(account, 0, { allowed, nowMs }), used: Math.max(0, account.used) };
}

/** A verdict under a block, if it has not ended. */
export function toBlocked(verdict: Verdict, blockedMs: number): Verdict {
  if (blockedMs <= 0) return verdict;
  return {
    ...verdict,
    allowed: false,
    remaining: 0,
    retryAfterMs: Math.max(blockedMs, verdict.retryAfterMs),
    resetMs: Math.max(blockedMs, verdict.resetMs),
    blockedMs,
  };
}
