// How large the next block of a region should be: what was asked for lately, for half of a block's life, and never more
// than is fair to the other regions.

import type { DepositDemand } from "../../deposit-store.js";

/** However short demand was watched: what a process leases on is for a second, and a burst says little of the next. */
const DEMAND_MS_MIN = 1_000;
/** A smaller block is not worth its request. */
const UNITS_MIN = 8;
/** However fast a key is: sums of blocks stay exact. */
const BLOCK_UNITS_MAX = 2 ** 40;

/** What the size of a block depends on. */
export interface BlockNeeds {
  readonly demand: DepositDemand;
  /** Of the request that asks. */
  readonly cost: number;
  readonly lifeMs: number;
  /** What the home region last said is left for all. */
  readonly remaining: number;
  readonly regions: number;
}

/** The units to lease, 0 if no block is worth while. */
export function blockUnits({ demand, cost, lifeMs, remaining, regions }: BlockNeeds): number {
  if (lifeMs === 0) return 0;
  const perMs = demand.units / Math.max(demand.inMs, DEMAND_MS_MIN);
  // Not a multiple of the cost: that may be what a process leases on, which is sized by its demand already.
  const wanted = Math.max(Math.ceil((perMs * lifeMs) / 2), UNITS_MIN, cost);
  const fair = Math.floor(remaining / (2 * regions));
  return Math.min(wanted, fair, BLOCK_UNITS_MAX);
}
