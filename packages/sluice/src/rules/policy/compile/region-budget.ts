// The store of all rules with `across: leased`: what the region holds of budget that it leased from the home region and,
// behind it, the region's reserve. In the home region, its own store counts for all regions.

import type { Clock } from "../../../base/clock.js";
import { SluiceError } from "../../../base/errors.js";
import { BorrowedStore } from "../../../stores/forwarding-store.js";
import { toGuarded } from "../../../stores/guarded.js";
import { LEASE_MS_MAX } from "../../../stores/leased/lease-options.js";
import { hasStandby } from "../../../stores/regions/fenced/home-region.js";
import { HomeLeasedStore } from "../../../stores/regions/leased/home-leased.js";
import { AllHomeTerms } from "../../../stores/regions/leased/home-terms.js";
import type { RegionLeasedSetup } from "../../../stores/regions/leased/region-charges.js";
import { RegionLeasedStore } from "../../../stores/regions/leased/region-leased.js";
import {
  newTally,
  type RegionLeasedStats,
} from "../../../stores/regions/leased/region-leased-stats.js";
import { ReservedStore } from "../../../stores/regions/leased/reserved-store.js";
import type { Regions } from "../../../stores/regions/regions.js";
import type { Store } from "../../../stores/store.js";

/** A store that decides out of what its region holds, and its figures. */
export interface RegionBudget {
  readonly store: Store;
  readonly stats: RegionLeasedStats;
}

/** What a region's budget is made of. */
export interface RegionBudgetSetup {
  /** The region's own store. */
  readonly own: Store;
  /** The store of the home region; undefined in the home region. */
  readonly home: Store | undefined;
  readonly regions: Regions | undefined;
  readonly clock: Clock;
  /** How long processes lease on from their region. Default 1,000. */
  readonly leaseMs: number | undefined;
  /** Whether this region is home now; asked only if the home region may change. */
  readonly isHome: () => boolean;
}

/**
 * Makes the store. Its owner closes it, the regions' stores stay open.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if the region's own store keeps no deposits.
 */
export function makeRegionBudget(setup: RegionBudgetSetup): RegionBudget {
  const { own, regions, clock } = setup;
  if (regions === undefined) throw new Error("there are no regions");
  const { leaseMs: regionLeaseMs, reserve, weights, self } = regions;
  const terms = new AllHomeTerms({ regionLeaseMs, reserve, weights, self });
  const tally = newTally();
  const region = new BorrowedStore(toGuarded(own, { clock }));
  const inner = fromHome(setup, region, { terms, tally, regionLeaseMs, regions: weights.size });
  const store = reserve === 0 ? inner : new ReservedStore({ inner, region, terms, tally });
  return { store, stats: tally };
}

function fromHome(
  { home, clock, leaseMs = LEASE_MS_MAX, regions, isHome }: RegionBudgetSetup,
  region: Store,
  shared: Pick<RegionLeasedSetup, "terms" | "tally" | "regionLeaseMs" | "regions">,
): Store {
  if (home === undefined) return new HomeLeasedStore(region, shared.terms);
  const { deposits } = region;
  if (deposits === undefined) {
    const seen = "regions: across: leased needs a store of this region that keeps deposits";
    throw new SluiceError("SLUICE_OPTION_INVALID", `${seen}, such as redisStore(…)`);
  }
  const guarded = new BorrowedStore(toGuarded(home, { clock }));
  const setup = { ...shared, region, deposits, home: guarded, clock, leaseMs };
  return new RegionLeasedStore(hasStandby(regions) ? { ...setup, isHome } : setup);
}
