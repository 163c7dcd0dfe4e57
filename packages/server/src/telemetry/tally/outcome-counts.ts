// The number of decisions by outcome, and sums and differences of such numbers.

/** How decisions ended. */
export interface OutcomeCounts {
  /** Those that no rule counted included. */
  readonly allowed: number;
  readonly delayed: number;
  readonly blocked: number;
  /** What rules in shadow mode would have refused; such a decision is counted as it ended besides. */
  readonly shadowBlocked: number;
}

/** Counts of zero. */
export const NO_OUTCOMES: OutcomeCounts = { allowed: 0, delayed: 0, blocked: 0, shadowBlocked: 0 };

/** The sum of two. */
export function addOutcomes(a: OutcomeCounts, b: OutcomeCounts): OutcomeCounts {
  return {
    allowed: a.allowed + b.allowed,
    delayed: a.delayed + b.delayed,
    blocked: a.blocked + b.blocked,
    shadowBlocked: a.shadowBlocked + b.shadowBlocked,
  };
}

/** What came between two readings. Not below zero: a process that was restarted counts from zero. */
export function subtractOutcomes(now: OutcomeCounts, before: OutcomeCounts): OutcomeCounts {
  return {
    allowed: Math.max(0, now.allowed - before.allowed),
    delayed: Math.max(0, now.delayed - before.delayed),
    blocked: Math.max(0, now.blocked - before.blocked),
    shadowBlocked: Math.max(0, now.shadowBlocked - before.shadowBlocked),
  };
}

/** How many decisions they are. What rules in shadow mode would have refused ended in one of the other ways too. */
export function sizeOf({ allowed, delayed, blocked }: OutcomeCounts): number {
  return allowed + delayed + blocked;
}
