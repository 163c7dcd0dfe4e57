// The Vegas algorithm: latency shows how many of the requests in flight wait in the backend's queue, and the limit
// moves so that a few do: enough to keep the backend busy, too few to be slow. After TCP Vegas.

import { FAILURE_SHARE_MAX, type LimitSignal, lowerByFailures } from "./limit-step.js";

/**
 * The queue may be from 3 to 6 times this. It grows with the square root of the limit, as random variation of the
 * requests in flight does: with the logarithm of TCP Vegas, backends whose requests differ were left idle.
 */
function unitOf(limit: number): number {
  return Math.max(1, Math.sqrt(limit) / 2);
}

/** The next limit by the Vegas algorithm. */
export function vegasStep(signal: LimitSignal): number {
  const { limit, latencyMs, baselineMs, failureShare, isUsed } = signal;
  if (failureShare > FAILURE_SHARE_MAX) return lowerByFailures(signal);
  if (latencyMs === undefined || baselineMs === undefined) return limit;
  const unit = unitOf(limit);
  const queue = limit * Math.max(0, 1 - baselineMs / latencyMs);
  // Half of what is too much: the queue of one window is an estimate.
  if (queue > 6 * unit) return limit - Math.max(unit, (queue - 6 * unit) / 2);
  if (!isUsed || queue >= 3 * unit) return limit;
  // With no queue to speak of, the limit is far from what the backend can take.
  return limit + (queue <= unit ? 3 * unit : unit);
}
