// The answer to a request: the verdicts of its charges, combined.

import type { Verdict } from "./stores/store.js";

/** The answer to a request. All durations are in milliseconds from now. */
export type Decision = Verdict;

/**
 * Combines verdicts. Refused: the longest wait of the limits that refuse, and the state of the
 * limit that has it. Allowed: the state of the limit with the smallest share left, and the
 * longest delay.
 */
export function combine(verdicts: readonly Verdict[]): Decision {
  if (verdicts.length === 1) return verdicts[0];
  const refusing = verdicts.filter((verdict) => !verdict.allowed);
  if (refusing.length > 0) {
    return refusing.reduce((worst, next) =>
      next.retryAfterMs > worst.retryAfterMs ? next : worst,
    );
  }
  const binding = verdicts.reduce((least, next) => (share(next) < share(least) ? next : least));
  return { ...binding, delayMs: Math.max(...verdicts.map((verdict) => verdict.delayMs)) };
}

function share(verdict: Verdict): number {
  return verdict.remaining / verdict.limit;
}
