// How large the next lease of a region should be: what was asked for lately, for half of a lease's life, and never more
// than is fair to the other regions. Where the limit will be exhausted sooner, only for half of that time: what a region
// holds and has not spent by then is refused to callers in other regions.

import type { DepositDemand } from "../../deposit-store.js";

/** Demand counts as measured for at least this long: a process leases for a second, and a burst says little. */
const DEMAND_MS_MIN = 1_000;
/** A smaller lease is not worth its request. */
const UNITS_MIN = 8;
/** However soon the limit will be exhausted: the next lease takes a round trip. */
const HORIZON_MS_MIN = 100;
/** However fast a key is: sums of leases stay exact. */
const LEASE_UNITS_MAX = 2 ** 40;

/** What the size of a lease depends on. */
export interface LeaseNeeds {
  readonly demand: DepositDemand;
  /** Of the request that asks. */
  readonly cost: number;
  readonly lifeMs: number;
  /** What the home region last said is left for all. */
  readonly remaining: number;
  /** Units that all regions together take in a millisecond, as far as is known. */
  readonly drainPerMs: number;
  readonly regions: number;
}

/** The units to lease, 0 if no lease is worth while. */
export function leaseUnits(needs: LeaseNeeds): number {
  const { demand, cost, lifeMs, remaining, drainPerMs, regions } = needs;
  if (lifeMs === 0) return 0;
  const perMs = demand.units / Math.max(demand.inMs, DEMAND_MS_MIN);
  const exhaustedInMs = remaining / drainPerMs;
  const isScarce = exhaustedInMs < lifeMs;
  const horizonMs = isScarce ? Math.max(exhaustedInMs / 2, HORIZON_MS_MIN) : lifeMs / 2;
  // Not a multiple of the cost: the cost may be a process's lease, whose size follows its demand already.
  const wanted = Math.max(Math.ceil(perMs * horizonMs), cost);
  const fair = Math.floor(remaining / (2 * regions));
  // Scarce units stay at home, where every region can have them, unless a region needs many.
  if (fair < UNITS_MIN || (isScarce && wanted < UNITS_MIN)) return 0;
  return Math.min(Math.max(wanted, UNITS_MIN), fair, LEASE_UNITS_MAX);
}
