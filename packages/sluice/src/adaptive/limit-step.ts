// What an algorithm of an adaptive limit is: a pure function from what a window of requests has shown to the next
// limit. Algorithms know neither time nor bounds; `limit-state.ts` applies both.

/** How an adaptive limit moves. */
export type AdaptiveAlgorithm = "gradient" | "aimd" | "vegas";

/** What one window has shown about the backend. */
export interface LimitSignal {
  /** The limit that was in force; it may have a fraction. */
  readonly limit: number;
  /** The mean latency of the requests that succeeded, at least {@link LATENCY_MS_MIN}; undefined if none did. */
  readonly latencyMs: number | undefined;
  /** The mean latency of the backend without a queue, at least {@link LATENCY_MS_MIN}; undefined if not known yet. */
  readonly baselineMs: number | undefined;
  /** The share of requests that failed, 0 to 1. */
  readonly failureShare: number;
  /** Whether requests came close to the limit: a limit that is not used says nothing about the backend, and stays. */
  readonly isUsed: boolean;
}

/** Returns the next limit. */
export type LimitStep = (signal: LimitSignal) => number;

/** Times are whole milliseconds, so faster backends look alike. */
export const LATENCY_MS_MIN = 1;

/** A few failures have other causes than load; beyond this share of a window the limit falls. */
export const FAILURE_SHARE_MAX = 0.05;

/** Half of the share of failures is taken off, so that a window in which all fail halves the limit. */
export function lowerByFailures({ limit, failureShare }: LimitSignal): number {
  return limit * (1 - failureShare / 2);
}
