// The state of an adaptive limit, and how a window of requests moves it: a pure function, with time as an argument. All
// algorithms compare latency with a baseline, the latency of the backend without a queue. The baseline is measured
// again from time to time by a probe: a window at half the limit, or less, in which a queue drains.

import { aimdStep } from "./aimd.js";
import { gradientStep } from "./gradient.js";
import { type AdaptiveAlgorithm, LATENCY_MS_MIN, type LimitStep } from "./limit-step.js";
import { vegasStep } from "./vegas.js";

/** The limit moves only between these, both included. */
export interface LimitBounds {
  readonly min: number;
  readonly max: number;
}

/** What is known of a backend, and what follows from it. Never changed: each window yields the next one. */
export interface LimitState {
  /** From `min` to `max`. It may have a fraction; the whole part is in force. */
  readonly limit: number;
  /** The mean latency of the backend without a queue; undefined before the first window. */
  readonly baselineMs: number | undefined;
  /** The mean latency of the latest window; undefined before the first. */
  readonly latencyMs: number | undefined;
  /** When the baseline was last measured without a queue. */
  readonly measuredAtMs: number;
  /** The limit of that time. */
  readonly measuredLimit: number;
  /** The share of the limit that is in force: 1, or less in a window that is a probe. */
  readonly probeShare: number;
}

/** What happened in one window. */
export interface WindowCounts {
  /** Requests that succeeded. */
  readonly oks: number;
  /** The sum of their latencies. */
  readonly latencyMsSum: number;
  /** Requests that failed: dropped, timed out, or answered with an error. */
  readonly failures: number;
  /** Requests that found no room. */
  readonly shed: number;
  /** The most requests in flight together. */
  readonly inFlightMax: number;
}

const STEPS: Readonly<Record<AdaptiveAlgorithm, LimitStep>> = {
  gradient: gradientStep,
  aimd: aimdStep,
  vegas: vegasStep,
};

/** Every algorithm by its name. */
export const ALGORITHMS = ["gradient", "aimd", "vegas"] as const satisfies AdaptiveAlgorithm[];

/** The share of the limit that a probe leaves. With it, the limits that algorithms settle at leave no queue in a probe. */
const PROBE_SHARE = 0.5;
/** A limit that has fallen to this share of the one at the last measurement is probed too. */
const FALLEN_SHARE = 0.75;
/** A probe whose latency is above this multiple of the old baseline may still have a queue. */
const RISEN_BY = 1.2;
/** It has one only if its latency is also below this share of that before: without a queue, fewer are not faster. */
const FALLING_BY = 0.8;
/** A baseline that is older is measured again. */
export const BASELINE_MS_MAX = 5_000;
/** How much of the way to a new baseline a window goes that only happened to have no queue. */
const BASELINE_SMOOTHING = 0.2;

/** The state before anything is known. */
export function toFirstState(limit: number, nowMs: number): LimitState {
  return {
    limit,
    baselineMs: undefined,
    latencyMs: undefined,
    measuredAtMs: nowMs,
    measuredLimit: limit,
    probeShare: 1,
  };
}

/** The limit in force: the whole part, or in a probe a share of it; never outside of the bounds. */
export function limitInForce(state: LimitState, { min, max }: LimitBounds): number {
  return Math.min(max, Math.max(min, Math.floor(state.limit * state.probeShare)));
}

/** The state after a window that ended at `nowMs`. */
export function nextState(
  algorithm: AdaptiveAlgorithm,
  before: LimitState,
  window: WindowCounts,
  bounds: LimitBounds,
  nowMs: number,
): LimitState {
  const latencyMs = meanLatencyMs(window);
  if (before.probeShare < 1) return afterProbe(before, latencyMs, bounds, nowMs);
  const { baselineMs, isMeasured } = nextBaseline(before, window, latencyMs);
  const { oks, failures } = window;
  const limit = STEPS[algorithm]({
    limit: before.limit,
    latencyMs,
    baselineMs,
    failureShare: failures / Math.max(1, oks + failures),
    isUsed: isUsed(before, window),
  });
  const measuredAtMs = isMeasured ? nowMs : before.measuredAtMs;
  const measuredLimit = isMeasured ? before.limit : before.measuredLimit;
  const isOld = nowMs - measuredAtMs >= BASELINE_MS_MAX;
  // A limit that fell this far may have fallen because the backend is slower now without any queue.
  const hasFallen = limit <= measuredLimit * FALLEN_SHARE;
  return {
    limit: Math.min(bounds.max, Math.max(bounds.min, limit)),
    baselineMs,
    latencyMs: latencyMs ?? before.latencyMs,
    measuredAtMs,
    measuredLimit,
    probeShare: baselineMs !== undefined && (isOld || hasFallen) ? PROBE_SHARE : 1,
  };
}

/**
 * A probe measures the baseline and leaves the limit as it was. Where latency is far above the old baseline and fell with
 * the limit, there may still be a queue, and the next window is a deeper probe. One in which nothing succeeded is tried
 * again later.
 */
function afterProbe(
  before: LimitState,
  latencyMs: number | undefined,
  bounds: LimitBounds,
  nowMs: number,
): LimitState {
  const { baselineMs, latencyMs: aboveMs, limit, probeShare } = before;
  const isRisen = latencyMs !== undefined && latencyMs > RISEN_BY * (baselineMs ?? latencyMs);
  const isFalling = isRisen && latencyMs < FALLING_BY * (aboveMs ?? latencyMs);
  if (isFalling && limitInForce(before, bounds) > Math.max(1, bounds.min)) {
    return { ...before, latencyMs, probeShare: probeShare * PROBE_SHARE };
  }
  return {
    limit,
    baselineMs: latencyMs ?? baselineMs,
    latencyMs: latencyMs ?? aboveMs,
    measuredAtMs: nowMs,
    measuredLimit: limit,
    probeShare: 1,
  };
}

/** The baseline, and whether this window measured it: one with few requests in flight and nothing shed has no queue. */
function nextBaseline(
  { baselineMs, limit }: LimitState,
  { inFlightMax, shed }: WindowCounts,
  latencyMs: number | undefined,
): { baselineMs: number | undefined; isMeasured: boolean } {
  if (latencyMs === undefined) return { baselineMs, isMeasured: false };
  if (baselineMs === undefined) return { baselineMs: latencyMs, isMeasured: true };
  const isMeasured = shed === 0 && inFlightMax <= limit * PROBE_SHARE;
  if (!isMeasured && latencyMs >= baselineMs) return { baselineMs, isMeasured };
  return { baselineMs: baselineMs + BASELINE_SMOOTHING * (latencyMs - baselineMs), isMeasured };
}

/** Whether the limit was reached, or half of it: priorities may leave the rest. */
function isUsed({ limit }: LimitState, { shed, inFlightMax }: WindowCounts): boolean {
  return shed > 0 || inFlightMax >= limit * PROBE_SHARE;
}

function meanLatencyMs({ oks, latencyMsSum }: WindowCounts): number | undefined {
  return oks === 0 ? undefined : Math.max(LATENCY_MS_MIN, latencyMsSum / oks);
}
