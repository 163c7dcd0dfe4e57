// The attempts of a delivery as they are kept: each with its outcome, the latest of them.

/** One attempt. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number;
  /** When it began; absent if the node that made it stopped before it was recorded. */
  readonly atMs?: number;
  readonly tookMs?: number;
  /** The status of the response; absent if none came. */
  readonly status?: number;
  /** Why it did not deliver; absent if it did. */
  readonly error?: string;
}

/** Attempts that are kept of each delivery. */
export const HISTORY_MAX = 32;

const UNKNOWN = "the outcome is not known: the node stopped before it was recorded";

/** A history with one attempt more. Attempts between, which were begun and never recorded, are filled in. */
export function withAttempt(history: readonly Attempt[], attempt: Attempt): Attempt[] {
  const firstKept = attempt.attempt - HISTORY_MAX + 1;
  const begun = history.at(-1)?.attempt ?? 0;
  const missing: Attempt[] = [];
  for (let n = Math.max(begun + 1, firstKept); n < attempt.attempt; n++) {
    missing.push({ attempt: n, error: UNKNOWN });
  }
  return [...history, ...missing, attempt].slice(-HISTORY_MAX);
}
