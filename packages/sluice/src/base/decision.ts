// The answer to a charge, and the answer to a request: the verdicts of its charges, combined.

/** Where an answer came from. */
export type DecisionSource = "memory" | "store" | "lease" | "deny-cache" | "fallback";

/** The answer to one charge. All durations are in milliseconds from now. */
export interface Verdict {
  readonly allowed: boolean;
  /** The units available when nothing is in use. */
  readonly limit: number;
  /** Whole units left, never negative. */
  readonly remaining: number;
  /** 0 if allowed; the wait until this cost would pass if no other caller spends; Infinity if it never can. */
  readonly retryAfterMs: number;
  /** Until the full quota is back. */
  readonly resetMs: number;
  /** How long an admitted request has to wait before it continues. */
  readonly delayMs: number;
  readonly source: DecisionSource;
  /**
   * How long the key is still blocked, Infinity if until it is unblocked. Absent if it is not: then the limit
   * itself answered.
   */
  readonly blockedMs?: number | undefined;
}

/** The answer to a request. */
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

/**
 * Whether `a` binds more than `b`: it refuses, for longer if both do; or it has the smaller share left.
 * Of equals neither does.
 */
export function bindsMore(a: Verdict, b: Verdict): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining / a.limit < b.remaining / b.limit;
}
