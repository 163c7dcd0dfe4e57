// Delays: a rule with `onExceed: delay` on a token bucket lets a request take a slot that is still to
// come. It counts in a bucket that is larger by what refills within the longest delay; a request that
// goes beyond the bucket's own capacity waits until its slot is there.

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

/** The verdict under the rule's own numbers: what goes beyond its capacity waits. */
export function withDelay(verdict: Verdict, limit: Limit, counted: Limit): Verdict {
  if (limit === counted || limit.algorithm !== "tokenBucket") return verdict;
  const { amount, everyMs } = limit.refill;
  const ahead = counted.limit - limit.limit;
  const fullMs = (limit.capacity * everyMs) / amount;
  const delayMs = verdict.allowed ? Math.max(0, Math.ceil(verdict.resetMs - fullMs)) : 0;
  return {
    ...verdict,
    limit: limit.limit,
    remaining: Math.max(0, verdict.remaining - ahead),
    delayMs: Math.max(delayMs, verdict.delayMs),
  };
}
