// What a run says beyond its counts: whether callers were treated alike, and how long it took to recover from faults.

import type { Limit } from "sluice";
import { SLICE_MS, type Slice, type Truth } from "./world/truth.js";

/** Callers that asked less often than this say nothing about fairness. */
const ASKED_MIN = 10;

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

/** A span of time is as it would have been without faults if this share of what was admitted then is admitted in it. */
const RECOVERED_SHARE = 0.95;
/** Spans of a second, so that a decision a little earlier or later makes no difference. */
const SPAN_SLICES = 1_000 / SLICE_MS;

/** A run with faults beside the same one without. */
export interface Disturbance {
  readonly timeline: readonly Slice[];
  /** The same callers at the same instants, and no fault. */
  readonly undisturbed: readonly Slice[];
  readonly lastFaultMs: number;
  /** Until when callers asked. */
  readonly durationMs: number;
}

/**
 * How long after the last fault until callers were admitted as many requests, in every second from then on, as without the
 * faults: infinity if they were not by the end of the run; undefined if less than a second was left.
 */
export function recoveryMsOf(disturbance: Disturbance): number | undefined {
  const { timeline, undisturbed, lastFaultMs, durationMs } = disturbance;
  const first = Math.ceil(lastFaultMs / SLICE_MS);
  const last = Math.floor(durationMs / SLICE_MS) - SPAN_SLICES;
  if (first > last) return undefined;
  let start = last;
  const isAsBefore = () =>
    admittedFrom(timeline, start) >= RECOVERED_SHARE * admittedFrom(undisturbed, start);
  while (start >= first && isAsBefore()) start--;
  if (start === last) return Number.POSITIVE_INFINITY;
  return start < first ? 0 : (start + 1) * SLICE_MS - lastFaultMs;
}

function admittedFrom(timeline: readonly Slice[], start: number): number {
  let sum = 0;
  for (let i = start; i < start + SPAN_SLICES; i++) sum += timeline[i]?.admitted ?? 0;
  return sum;
}
