// How long permits are held, as observed: nobody knows when a permit comes free, and when it expires says
// nothing about it. A caller that is refused is told to wait as long as permits of the same limit were held
// lately. One number for each counter, which a reload keeps.

import type { Counter } from "../stores/store.js";
import type { RuleCharge } from "./charge.js";

/** The weight of the latest hold in the mean. */
const LATEST_SHARE = 1 / 8;

const meanMsByCounter = new WeakMap<Counter, number>();

/** Notes that a permit was held for so long; not before that it expired. */
export function noteHold(
  { counter, nowMs }: Pick<RuleCharge, "counter" | "nowMs">,
  endMs: number,
): void {
  const heldMs = Math.min(Math.max(0, endMs - nowMs), permitMsOf(counter));
  const meanMs = meanMsByCounter.get(counter) ?? heldMs;
  meanMsByCounter.set(counter, meanMs + (heldMs - meanMs) * LATEST_SHARE);
}

/**
 * How long a charge that was refused should wait: until it would pass, and for a permit as long as permits
 * were held lately. Undefined if none was released yet; Infinity if waiting does not help.
 */
export function waitMsOf({
  verdict,
  counter,
}: Pick<RuleCharge, "verdict" | "counter">): number | undefined {
  const { retryAfterMs, source } = verdict;
  // Longer than a permit lasts is a block.
  const isPermit = retryAfterMs > 0 && retryAfterMs <= permitMsOf(counter);
  const isFailure = source === "fallback" && counter.onStoreFailure !== "local";
  if (!isPermit || isFailure) return retryAfterMs;
  const meanMs = meanMsByCounter.get(counter);
  return meanMs === undefined ? undefined : Math.ceil(meanMs);
}

/** How long a permit lasts; 0 where there are none, so that no wait is taken for that of a permit. */
function permitMsOf({ limit }: Counter): number {
  return limit.algorithm === "concurrency" ? limit.permitMs : 0;
}
