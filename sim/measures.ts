// What a run says beyond its counts: whether callers were treated alike, and how long it took to recover from faults.

import type { Limit } from "sluice";
import { SLICE_MS, type Slice, type Truth } from "./world/truth.js";

/** Callers that asked less often than this say nothing about fairness. */
const ASKED_MIN = 10;
/** A slice is as before if at most this share of its decisions more than before was refused early. */
const EARLY_SHARE_MAX = 0.01;

/**
 * Jain's index of what callers got of what they were entitled to: the lesser of what they asked for and what their
 * limits allow in that time. 1: all got the same share; 1/n: one of n got everything. 1 without callers.
 */
export function fairnessOf(truth: Truth, limits: readonly Limit[], durationMs: number): number {
  const entitled = Math.min(...limits.map((limit) => allowanceOf(limit, durationMs)));
  let sum = 0;
  let squares = 0;
  let callers = 0;
  for (let i = 0; i < truth.asked.length; i++) {
    if (truth.asked[i] < ASKED_MIN) continue;
    const share = truth.given[i] / Math.min(truth.asked[i], entitled);
    sum += share;
    squares += share * share;
    callers++;
  }
  return squares === 0 ? 1 : (sum * sum) / (callers * squares);
}

/** The most units that a limit lets through in that time. */
function allowanceOf(limit: Limit, durationMs: number): number {
  if (limit.algorithm === "tokenBucket")
    return limit.capacity + (durationMs * limit.refill.amount) / limit.refill.everyMs;
  const windowMs = "windowMs" in limit ? limit.windowMs : durationMs;
  return limit.capacity * Math.ceil(durationMs / windowMs);
}

/**
 * How long after the last fault callers were still refused early more often than before the first one, in slices of
 * 100 ms; undefined if there was no fault.
 */
export function recoveryMsOf(
  timeline: readonly Slice[],
  faultsAtMs: readonly number[],
): number | undefined {
  if (faultsAtMs.length === 0) return undefined;
  const first = Math.floor(Math.min(...faultsAtMs) / SLICE_MS);
  const last = Math.floor(Math.max(...faultsAtMs) / SLICE_MS);
  const before = earlyShareOf(timeline.slice(0, first));
  const isRecovered = (slice: Slice) => earlyShareOf([slice]) <= before + EARLY_SHARE_MAX;
  const lastBad = timeline.findLastIndex((slice, i) => i >= last && !isRecovered(slice));
  return lastBad === -1 ? 0 : (lastBad + 1) * SLICE_MS - Math.max(...faultsAtMs);
}

function earlyShareOf(slices: readonly Slice[]): number {
  let early = 0;
  let decisions = 0;
  for (const slice of slices) {
    early += slice.early;
    decisions += slice.admitted + slice.refused;
  }
  return decisions === 0 ? 0 : early / decisions;
}
