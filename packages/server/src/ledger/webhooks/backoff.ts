// When a delivery is tried again: exponential backoff with full jitter, so that deliveries that failed together don't
// come back together. It continues for about three days, which a receiver's outage over a weekend fits into.

const FIRST_MS = 10_000;
const WAIT_MS_MAX = 12 * 3_600_000;
const WAIT_MS_MIN = 1_000;

/** Tries of a delivery, the first one included; the waits between them add up to about three days. */
export const TRIES_MAX = 24;

/** Options of {@link waitMs}. */
export interface BackoffOptions {
  /** How many tries there have been, from 1. */
  readonly tries: number;
  /** A number from 0 to below 1. */
  readonly chance: () => number;
  /** How long the receiver asked to wait. Default: it did not ask. */
  readonly retryAfterMs?: number | undefined;
}

/** How long to wait before the next try; undefined if there is none. */
export function waitMs({ tries, chance, retryAfterMs = 0 }: BackoffOptions): number | undefined {
  if (tries >= TRIES_MAX) return undefined;
  const mostMs = Math.min(WAIT_MS_MAX, FIRST_MS * 2 ** (tries - 1));
  const askedMs = Math.min(WAIT_MS_MAX, Math.max(WAIT_MS_MIN, retryAfterMs));
  return Math.max(askedMs, Math.floor(chance() * mostMs));
}
