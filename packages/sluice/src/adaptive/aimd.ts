// Additive increase, multiplicative decrease, as TCP does it: one more request in flight with each good window, a tenth
// less with each in which requests failed or took twice as long as without a queue.

import { FAILURE_SHARE_MAX, type LimitSignal } from "./limit-step.js";

/** A window whose latency is above this multiple of the baseline is congested. */
const TOLERANCE = 2;
const BACKOFF = 0.9;

/** The next limit by additive increase and multiplicative decrease. */
export function aimdStep(signal: LimitSignal): number {
  const { limit, latencyMs, baselineMs, failureShare, isUsed } = signal;
  if (failureShare > FAILURE_SHARE_MAX) return limit * BACKOFF;
  if (latencyMs === undefined || baselineMs === undefined) return limit;
  if (latencyMs > TOLERANCE * baselineMs) return limit * BACKOFF;
  return isUsed ? limit + 1 : limit;
}
