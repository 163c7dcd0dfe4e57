// The statistics of policies and stores. Each store reports its own as `stats`, and their fields show which kind
// of store it is.

import type {
  DenyCacheStats,
  EventualStats,
  LeasedStats,
  MemoryStoreStats,
  ResilientStats,
  Store,
} from "sluice";
import type { HomeStats, MergedStats, Policy, PolicyStats, Rule } from "sluice/rules";
import type { MetricLine } from "./sampled-metric.js";

/** A service has a handful of policies and stores. */
const SOURCES_MAX = 100;

/** Statistics by kind, one entry for each store that has them. */
export interface StoreStats {
  readonly memory: MemoryStoreStats[];
  readonly resilient: ResilientStats[];
  readonly leased: LeasedStats[];
  readonly eventual: EventualStats[];
  readonly denyCache: DenyCacheStats[];
  readonly merged: MergedStats[];
  /** Of policies with rules that have `across: leased`. */
  readonly regionLeased: NonNullable<PolicyStats["regionLeased"]>[];
  /** Of policies whose home region has a standby. */
  readonly home: HomeStats[];
  /** Learned shares of this region, by rule. */
  readonly shares: (readonly [string, number])[];
}

/** The policies and stores whose statistics the metrics show. */
export class WatchedStats {
  readonly #policies = new Set<Policy>();
  readonly #stores = new Set<{ readonly stats: object }>();
  #stats: StoreStats | undefined;

  /** Includes it from now on. Stores without `stats`, and sources that are watched already, change nothing. */
  watch(source: Policy | Store): void {
    if (this.#policies.size + this.#stores.size >= SOURCES_MAX) return;
    if (isPolicy(source)) this.#policies.add(source);
    else if (hasStats(source)) this.#stores.add(source);
  }

  get policies(): Iterable<Policy> {
    return this.#policies;
  }

  /** A rule in force. */
  findRule(ruleId: string): Rule | undefined {
    for (const { rules } of this.#policies) {
      const found = rules.rules.find(({ id }) => id === ruleId);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** All statistics as they are now. All metrics of a scrape, which run in one turn, share one reading. */
  read(): StoreStats {
    if (this.#stats === undefined) {
      this.#stats = this.#collect();
      queueMicrotask(() => {
        this.#stats = undefined;
      });
    }
    return this.#stats;
  }

  /** The shares of this region: learned ones by rule, else the one by weight that all rules have. */
  *shareLines(byWeight: number | undefined): Iterable<MetricLine> {
    const { shares } = this.read();
    for (const [rule, value] of shares) yield { labels: { rule }, value };
    if (shares.length === 0 && byWeight !== undefined) yield { labels: {}, value: byWeight };
  }

  #collect(): StoreStats {
    const found: StoreStats = {
      memory: [],
      resilient: [],
      leased: [],
      eventual: [],
      denyCache: [],
      merged: [],
      regionLeased: [],
      home: [],
      shares: [],
    };
    for (const { stats } of this.#stores) sort(stats, found);
    for (const { stats } of this.#policies) {
      const { leased, homeLeased, mergedLeased, regionProcessLeased, splitLeased } = stats;
      const near = [leased, homeLeased, mergedLeased, regionProcessLeased, splitLeased];
      const leases = [...near, stats.durableLeased];
      for (const part of [...leases, stats.eventual, stats.denyCache, stats.local]) {
        if (part !== undefined) sort(part, found);
      }
      found.merged.push(...(stats.merged ?? []));
      found.shares.push(...(stats.shares ?? []));
      if (stats.regionLeased !== undefined) found.regionLeased.push(stats.regionLeased);
      if (stats.home !== undefined) found.home.push(stats.home);
    }
    return found;
  }
}

function sort(stats: object, found: StoreStats): void {
  if ("evictions" in stats) found.memory.push(stats as MemoryStoreStats);
  else if ("unsettled" in stats) found.resilient.push(stats as ResilientStats);
  else if ("unitsLeased" in stats) found.leased.push(stats as LeasedStats);
  else if ("overshootUnitsMax" in stats) found.eventual.push(stats as EventualStats);
  else if ("lease" in stats) found.leased.push(stats.lease as LeasedStats);
  else if ("hits" in stats) found.denyCache.push(stats as DenyCacheStats);
}

function isPolicy(source: Policy | Store): source is Policy {
  return "admit" in source;
}

function hasStats(source: object): source is { readonly stats: object } {
  const { stats } = source as { readonly stats?: unknown };
  return typeof stats === "object" && stats !== null;
}
