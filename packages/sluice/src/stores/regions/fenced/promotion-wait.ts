// What a new home region refuses at first. It does not know what the old one admitted, so a limit that recovers soon
// waits until nothing of that can count any more. A limit that takes longer starts full instead.

import type { Verdict } from "../../../base/decision.js";
import type { Limit } from "../../../limits/limits.js";
import type { RefusalReport } from "../../refusal-reports.js";
import type { Charge } from "../../store.js";

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

/** How long a deny cache repeats a refusal. */
const REPEATED_MS_MAX = 1_000;

/** Which limits refused because they wait: that says nothing about callers, so it must not escalate. */
export class PromotionWaits {
  /** By the scope of a counter, of which each rule has a few. */
  readonly #latestMs = new Map<string, number>();

  /** A charge was refused because its limit waits. */
  note({ counter, nowMs }: Charge): void {
    this.#latestMs.set(counter.scope, Math.max(nowMs, this.#latestMs.get(counter.scope) ?? 0));
  }

  /** Whether refusals that are reported may be of a limit that waited. */
  hasRefused({ blockScopes, nowMs, ageMs }: RefusalReport): boolean {
    return blockScopes.some((scope) => {
      const latestMs = this.#latestMs.get(scope);
      return latestMs !== undefined && nowMs - ageMs <= latestMs + REPEATED_MS_MAX;
    });
  }
}
