// What a leased store has done: leases, decisions and the units of each.

/** Statistics of a leased store. */
export interface LeasedStats {
  /** Leases granted. */
  readonly leases: number;
  /** Decisions out of leases, and decisions that the inner store was asked for. */
  readonly leasedDecisions: number;
  readonly strictDecisions: number;
  /** Units that were leased: each is held, or was spent, returned or lost to expiry. */
  readonly unitsLeased: number;
  readonly unitsSpent: number;
  readonly unitsReturned: number;
  readonly unitsExpired: number;
  /** Leases whose return failed. */
  readonly returnsFailed: number;
}

/** The same, while counting. */
export type LeasedTally = { -readonly [Name in keyof LeasedStats]: LeasedStats[Name] };
