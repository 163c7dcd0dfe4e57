// What a new home region refuses at first. It does not know what the old one admitted, so a limit that recovers soon
// waits until nothing of that can count any more. A limit that takes longer starts full instead.

import type { Verdict } from "../../../base/decision.js";
import type { Limit } from "../../../limits/limits.js";

/**
 * The refusal of a charge so long after a promotion; undefined if it need not wait.
 *
 * @param promotionWaitMs - Limits that take longer than this to recover don't wait.
 */
export function waitAfterPromotion(
  { capacity, recoveryMs }: Limit,
  { ageMs, promotionWaitMs }: { readonly ageMs: number; readonly promotionWaitMs: number },
): Verdict | undefined {
  if (recoveryMs > promotionWaitMs || ageMs >= recoveryMs) return undefined;
  // While it is not known when home started, it may have started now.
  const restMs = Math.ceil(recoveryMs - (Number.isFinite(ageMs) ? ageMs : 0));
  return {
    allowed: false,
    limit: capacity,
    remaining: 0,
    retryAfterMs: restMs,
    resetMs: restMs,
    delayMs: 0,
    source: "store",
  };
}
