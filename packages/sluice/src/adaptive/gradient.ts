// The gradient algorithm: the limit is multiplied by the latency without a queue over the latency now, and a little room
// is added to explore. After Netflix's Gradient2 and Envoy's adaptive concurrency.

import { FAILURE_SHARE_MAX, type LimitSignal, lowerByFailures } from "./limit-step.js";

/** Latency may rise to this multiple of the baseline before the limit falls: requests differ, and a short queue helps. */
const TOLERANCE = 1.5;
/** However slow a window was, it asks for no less than this share of the limit. */
const GRADIENT_MIN = 0.5;
/** How much of the way to the new limit one window goes: one slow window is not a trend. */
const SMOOTHING = 0.3;

/** The next limit by the gradient algorithm. */
export function gradientStep(signal: LimitSignal): number {
  const { limit, latencyMs, baselineMs, failureShare, isUsed } = signal;
  if (failureShare > FAILURE_SHARE_MAX) return lowerByFailures(signal);
  if (latencyMs === undefined || baselineMs === undefined) return limit;
  const gradient = Math.max(GRADIENT_MIN, Math.min(1, (TOLERANCE * baselineMs) / latencyMs));
  const wanted = limit * gradient + Math.sqrt(limit);
  if (wanted > limit && !isUsed) return limit;
  return limit + SMOOTHING * (wanted - limit);
}
