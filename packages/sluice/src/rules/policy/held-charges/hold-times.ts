// How long permits are held, as observed: it is not known when a permit becomes free, and the time of its expiry
// says nothing about that. A refused caller is asked to wait as long as permits of the same limit were recently
// held. One number for each counter, which a reload keeps.

import type { Counter } from "../../../stores/store.js";
import type { DecidedRuleCharge } from "../charges/decided-charge.js";
import type { RuleCharge } from "../charges/request-charges.js";

/** The weight of the latest hold in the mean. */
const LATEST_SHARE = 1 / 8;

const meanMsByCounter = new WeakMap<Counter, number>();

/** Records how long a permit was held: until `endMs`, or until it expired if that was earlier. */
export function noteHold(
  { counter, nowMs }: Pick<RuleCharge, "counter" | "nowMs">,
  endMs: number,
): void {
  const heldMs = Math.min(Math.max(0, endMs - nowMs), permitMsOf(counter));
  const meanMs = meanMsByCounter.get(counter) ?? heldMs;
  meanMsByCounter.set(counter, meanMs + (heldMs - meanMs) * LATEST_SHARE);
}

/**
 * How long a refused charge should wait: until it would pass, until its key is no longer blocked, or for a permit, as
 * long as permits were recently held. Undefined if none was released yet; Infinity if waiting does not help.
 */
export function waitMsOf({
  verdict,
  counter,
}: Pick<DecidedRuleCharge, "verdict" | "counter">): number | undefined {
  const { retryAfterMs, blockedMs, source } = verdict;
  const isPermit = retryAfterMs > 0 && retryAfterMs <= permitMsOf(counter);
  const isFailure = source === "fallback" && counter.onStoreFailure !== "local";
  if (!isPermit || isFailure) return retryAfterMs;
  if (blockedMs !== undefined) return blockedMs;
  const meanMs = meanMsByCounter.get(counter);
  return meanMs === undefined ? undefined : Math.ceil(meanMs);
}

/** How long a permit lasts; 0 for limits without permits, so that no wait of theirs counts as one for a permit. */
function permitMsOf({ limit }: Counter): number {
  return limit.algorithm === "concurrency" ? limit.permitMs : 0;
}
