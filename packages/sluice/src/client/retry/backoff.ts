// How long a retry waits. Full jitter: a random time up to a bound that doubles with each attempt, so that clients which
// failed together don't return together. What the server asked for is never undercut; the random time is added to it.

/** The bounds of the random time. */
export interface BackoffOptions {
  /** The bound before the first retry. */
  readonly backoffMs: number;
  /** The bound never exceeds this. */
  readonly backoffMsMax: number;
}

/** Clients return within this share of the wait that a server asked for, after its end. */
const SPREAD_SHARE = 0.25;

/**
 * How long to wait before a retry.
 *
 * @param attempt - The attempt that failed, from 1.
 * @param retryAfterMs - What the server asked for, if it did.
 * @param random - From 0 to below 1.
 */
export function toBackoffMs(
  options: BackoffOptions,
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
): number {
  const { backoffMs, backoffMsMax } = options;
  const boundMs = Math.min(backoffMsMax, backoffMs * 2 ** (attempt - 1));
  if (retryAfterMs === undefined) return Math.ceil(random * boundMs);
  const spreadMs = Math.min(backoffMsMax, Math.max(boundMs, retryAfterMs * SPREAD_SHARE));
  return retryAfterMs + Math.ceil(random * spreadMs);
}
