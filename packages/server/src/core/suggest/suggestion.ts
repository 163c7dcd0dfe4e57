// Limits that few callers would ever exceed: for each window, the smallest round number that at most the given share of
// callers exceeded in the log. The share is divided among the windows, so that all limits together keep to it.

import { type Demand, WINDOWS_MS } from "./demand.js";

/** What callers asked for in one window, and the limit that follows from it. */
export interface WindowSuggestion {
  readonly windowMs: number;
  /** The limit, in requests. */
  readonly limit: number;
  /** The limit before it was rounded up: what all callers but this window's part of the share never exceeded. */
  readonly needed: number;
  /** Callers that exceeded the limit; about, if callers were sampled. */
  readonly callersTouched: number;
  /** The most that was counted of any caller. */
  readonly most: number;
  /** What each share of callers, from 0 to 1, never exceeded. */
  readonly quantiles: readonly { readonly share: number; readonly requests: number }[];
  /** Whether limits of shorter windows never let a caller reach it, so that it would change nothing. */
  readonly isImplied: boolean;
}

/** Limits for all windows. */
export interface Suggestion {
  /** Distinct callers in the log. */
  readonly callers: number;
  /** Whether callers were sampled, so that figures are estimates. */
  readonly isSampled: boolean;
  /** At most this share of callers would be refused, from 0 to 1. */
  readonly refuseAtMost: number;
  /** The shortest window first. */
  readonly windows: readonly WindowSuggestion[];
}

/** The quantiles of demand that are shown. */
const SHARES = [0.5, 0.9, 0.99, 0.999, 1];

/** The limits that follow from a demand. There must have been at least one caller. */
export function suggestLimits(demand: Demand, refuseAtMost: number): Suggestion {
  const windows: WindowSuggestion[] = [];
  for (const [at, windowMs] of WINDOWS_MS.entries()) {
    const peaks = demand.peaksOf(at);
    const needed = quantile(peaks, 1 - refuseAtMost / WINDOWS_MS.length);
    const limit = roundUp(needed);
    windows.push({
      windowMs,
      limit,
      needed,
      callersTouched: Math.round(countAbove(peaks, limit) / demand.share),
      most: peaks[peaks.length - 1],
      quantiles: SHARES.map((share) => ({ share, requests: quantile(peaks, share) })),
      isImplied: windows.some(
        (shorter) =>
          !shorter.isImplied && limit >= shorter.limit * (windowMs / shorter.windowMs + 1),
      ),
    });
  }
  return { callers: demand.callers, isSampled: demand.share < 1, refuseAtMost, windows };
}

/** What this share of sorted values does not exceed. Rounded up, so that no more than the rest do. */
function quantile(sorted: Uint32Array, share: number): number {
  // A share such as 0.999 of 1,000 is not exactly 999 in binary.
  const rank = Math.ceil(share * sorted.length - 1e-9);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1];
}

function countAbove(sorted: Uint32Array, limit: number): number {
  let at = sorted.length;
  while (at > 0 && sorted[at - 1] > limit) at--;
  return sorted.length - at;
}

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The next number that people write: 10, 12, 15, 20, … Up to 10 every number is one. */
export function roundUp(value: number): number {
  if (value <= 10) return Math.max(1, Math.ceil(value));
  const unit = 10 ** Math.floor(Math.log10(value));
  const step = ROUND.find((each) => each * unit >= value - 1e-9) ?? 10;
  return Math.round(step * unit);
}
