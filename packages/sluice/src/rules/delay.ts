// Delays: a rule with `onExceed: delay` on a token bucket lets a request take a slot that is still to
// come. It counts in a bucket that is larger by what refills within the longest delay; a request that
// goes beyond the bucket's own capacity waits until its slot is there. A wait is at most one
// millisecond longer than it has to be, and never shorter.

import type { Verdict } from "../decision.js";
import { concurrency, type Limit, tokenBucket } from "../limits.js";
import type { Rule } from "./rule.js";

/** The limit that is really counted for a limit of a rule. */
export function toDelayed(limit: Limit, rule: Rule, extraPermitMs: number): Limit {
  if (limit.algorithm === "concurrency" && extraPermitMs > 0) {
    // A permit's time starts when its request goes on, which may be after the longest delay.
    return concurrency({ limit: limit.limit, permitMs: limit.permitMs + extraPermitMs });
  }
  if (rule.onExceed !== "delay" || limit.algorithm !== "tokenBucket") return limit;
  const { amount, everyMs } = limit.refill;
  const ahead = Math.floor((amount * rule.delayMsMax) / everyMs);
  return tokenBucket({ capacity: limit.capacity + ahead, refill: limit.refill });
}

/**
 * The cost that is really charged. What is above the rule's own capacity never fits, though the
 * larger bucket might hold it: no wait within any bound would make it a burst that the rule allows.
 */
export function toDelayedCost(cost: number, limit: Limit, counted: Limit): number {
  return cost > limit.limit ? Math.max(cost, counted.limit + 1) : cost;
}

/**
 * A verdict on the larger bucket, under the rule's own numbers: what goes beyond its capacity waits.
 * `untaken` is what the verdict allows and has not charged: the cost under `peek`, else 0.
 */
export function withDelay(
  verdict: Verdict,
  { limit, counted, untaken }: { limit: Limit; counted: Limit; untaken: number },
): Verdict {
  if (limit.algorithm !== "tokenBucket") return verdict;
  const { amount, everyMs } = limit.refill;
  // A fallback decides under a share of the limit and of its rate, so its times are the same.
  const share = verdict.limit / counted.limit;
  const ahead = Math.ceil((counted.limit - limit.limit) * share);
  const beyondMs = verdict.resetMs + ((untaken - limit.capacity) * everyMs) / amount;
  return {
    allowed: verdict.allowed,
    limit: Math.max(1, verdict.limit - ahead),
    remaining: Math.max(0, verdict.remaining - ahead),
    retryAfterMs: verdict.retryAfterMs,
    resetMs: verdict.resetMs,
    delayMs: verdict.allowed ? Math.max(0, Math.ceil(beyondMs)) : 0,
    source: verdict.source,
  };
}
