// The figures of a policy: what its leases, syncs, regions and caches did so far.

import type { DenyCacheStats } from "../../../stores/deny-cache/deny-cache.js";
import type { EventualStats } from "../../../stores/eventual/eventual.js";
import type { LeasedStats } from "../../../stores/leased/leases/leased-stats.js";
import type { MemoryStoreStats } from "../../../stores/memory/memory-stats.js";
import type { HomeStats } from "../../../stores/regions/fenced/home-region.js";
import type { RegionLeasedStats } from "../../../stores/regions/leased/region-leased-stats.js";
import type { MergedStats } from "../../../stores/regions/merged/merged-options.js";

/** The figures of what a policy put in front of a shared store; each only if a rule needed it. */
export interface PolicyStats {
  /** Of rules with `consistency: leased`, durable ones apart. */
  readonly leased: LeasedStats | undefined;
  /** Of rules with `across: central` and `consistency: leased`, outside the home region. */
  readonly homeLeased: LeasedStats | undefined;
  /** Of the home region, if it has a standby. */
  readonly home: HomeStats | undefined;
  /** Of rules with `across: leased`: what this process did between its region and the home region. */
  readonly regionLeased: RegionLeasedStats | undefined;
  /** Of those of them with `consistency: leased`: what this process leased on from its region. */
  readonly regionProcessLeased: LeasedStats | undefined;
  /** Of rules with `across: merged` and `consistency: leased`. */
  readonly mergedLeased: LeasedStats | undefined;
  /** Of rules with `across: split` and learned shares that have `consistency: leased`. */
  readonly splitLeased: LeasedStats | undefined;
  /** Of durable rules with `consistency: leased`. */
  readonly durableLeased: LeasedStats | undefined;
  /** Of rules with `consistency: eventual`. */
  readonly eventual: EventualStats | undefined;
  /** Of rules with `across: merged`, by consistency. */
  readonly merged: readonly MergedStats[] | undefined;
  /** Of the counters in this process of rules with `consistency: local`, over a shared store. */
  readonly local: MemoryStoreStats | undefined;
  /** This region's share of each rule with `across: split` whose shares are learned, by its id: from 0 to 1. */
  readonly shares: ReadonlyMap<string, number> | undefined;
  /** Of the caches of refusals in front of strict and leased rules, together. */
  readonly denyCache: DenyCacheStats | undefined;
}

/** Of two caches together. */
export function addCaches(a: DenyCacheStats | undefined, b: DenyCacheStats): DenyCacheStats {
  if (a === undefined) return b;
  return { keys: a.keys + b.keys, hits: a.hits + b.hits };
}
