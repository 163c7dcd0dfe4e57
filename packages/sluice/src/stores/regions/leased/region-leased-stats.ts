// What a store of leases between regions has done in this process.

/** Statistics of leases between regions. */
export interface RegionLeasedStats {
  /** Decisions out of what this region holds. */
  readonly regionDecisions: number;
  /** Decisions that the home region was asked for. */
  readonly homeDecisions: number;
  /** Leases from the home region, those of them that failed or were refused, and their units. */
  readonly leases: number;
  readonly leasesRefused: number;
  readonly unitsLeased: number;
  /** Units that were returned unspent. Other regions were refused early by at most as many. */
  readonly unitsReturned: number;
  /** Units of the leases of this process that have not ended, spent or not. */
  readonly unitsHeld: number;
  /** Requests that the home region refused. */
  readonly homeRefusals: number;
  /** Requests that this region's reserve admitted. */
  readonly reserveDecisions: number;
}

/** The same, while counting. */
export type RegionLeasedTally = {
  -readonly [Name in keyof RegionLeasedStats]: RegionLeasedStats[Name];
};

/** Nothing yet. */
export function newTally(): RegionLeasedTally {
  return {
    regionDecisions: 0,
    homeDecisions: 0,
    leases: 0,
    leasesRefused: 0,
    unitsLeased: 0,
    unitsReturned: 0,
    unitsHeld: 0,
    homeRefusals: 0,
    reserveDecisions: 0,
  };
}
