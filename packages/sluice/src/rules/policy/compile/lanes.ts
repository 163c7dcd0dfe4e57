// Lanes: the stores of a policy, one for each consistency, region and number of shards, in the order in which a
// request passes them. The cheapest comes first, so that what it refuses troubles no other. Durable rules
// come last: what they charge is recorded for good.

import type { Clock } from "../../../base/clock.js";
import { DenyCacheStore, denyCache } from "../../../stores/deny-cache/deny-cache.js";
import {
  type EventualOptions,
  EventualStore,
  eventual,
} from "../../../stores/eventual/eventual.js";
import { BorrowedStore } from "../../../stores/forwarding-store.js";
import { isShared, toGuarded } from "../../../stores/guarded.js";
import type { LeasedOptions } from "../../../stores/leased/lease-options.js";
import { type LeasedStore, leased } from "../../../stores/leased/leased.js";
import { type MemoryStore, memoryStore } from "../../../stores/memory/memory-store.js";
import { type AdmissionMeter, MeteredStore } from "../../../stores/metered.js";
import {
  type HomeRegion,
  hasStandby,
  openHomeRegion,
} from "../../../stores/regions/fenced/home-region.js";
import { type MergedStore, merged } from "../../../stores/regions/merged/merged.js";
import type { MergedOptions } from "../../../stores/regions/merged/merged-options.js";
import type { Regions } from "../../../stores/regions/regions.js";
import {
  type LearnedShares,
  LearnedSplitStore,
} from "../../../stores/regions/split/learned-split.js";
import { sharded } from "../../../stores/sharded/sharded.js";
import type { Store } from "../../../stores/store.js";
import type { Rule } from "../../rule.js";
import {
  type DurableKind,
  type HomeKind,
  type LaneKind,
  type MergedKind,
  ORDER,
  type RegionKind,
  type SplitKind,
} from "./lane-kinds.js";
import { makeLearnedShares } from "./learned-shares.js";
import { addCaches, type PolicyStats } from "./policy-stats.js";
import { makeRegionBudget, type RegionBudget } from "./region-budget.js";

export type { PolicyStats } from "./policy-stats.js";

/** A store, and its place in the order. */
export interface Lane {
  readonly store: Store;
  readonly order: number;
  /** Whether its limits are cut into parts, of which each caller meets one. */
  readonly isSharded: boolean;
  /** The region whose store it is; undefined if there is one region, and of durable rules. */
  readonly region: string | undefined;
}

/** What lanes are made with. */
export interface LanesOptions {
  readonly clock: Clock;
  /** Undefined if there is one region. */
  readonly regions: Regions | undefined;
  /** Of durable rules. */
  readonly durableStore: Store | undefined;
  /** Counts what durable rules admit. */
  readonly admissions: AdmissionMeter | undefined;
  readonly leased: Omit<LeasedOptions, "clock">;
  readonly eventual: Omit<EventualOptions, "clock">;
  readonly merged: Pick<MergedOptions, "syncMs" | "nodes" | "keysMax">;
}

/** Another region may give back what it announced ahead; a refusal is not trusted for longer than that takes. */
const MERGED_DENY_MS_MAX = 100;

/** The lanes over one store, each made when a rule first needs it. They outlive any set of rules. */
export class Lanes {
  readonly #base: Store;
  readonly #options: LanesOptions;
  readonly #stores = new Map<LaneKind, Store>();
  readonly #lanes = new Map<string, Lane>();
  readonly #caches: DenyCacheStore[] = [];
  /** Undefined until a rule is local over a shared store. */
  #local: MemoryStore | undefined;
  #leases: LeasedStore | undefined;
  readonly #merged: MergedStore[] = [];
  #mergedLeases: LeasedStore | undefined;
  #splitLeases: LeasedStore | undefined;
  /** Undefined until a rule has `across: split` and learns its shares. */
  #shares: LearnedShares | undefined;
  #homeLeases: LeasedStore | undefined;
  #regionLeases: LeasedStore | undefined;
  /** Undefined until a rule has `across: central` or `leased`, and without a standby. */
  #homeRegion: HomeRegion | undefined;
  /** Undefined until a rule has `across: leased`. */
  #regionBudget: RegionBudget | undefined;
  #durableLeases: LeasedStore | undefined;

  /** @param base - The policy's store: with regions, that of its own region. */
  constructor(base: Store, options: LanesOptions) {
    this.#base = base;
    this.#options = options;
  }

  /** Undefined if there is one region. */
  get regions(): Regions | undefined {
    return this.#options.regions;
  }

  /** Whether this region's shares of limits follow demand. Those of a store in this process stay as the weights say. */
  get learnsShares(): boolean {
    return this.regions?.shares === "learned" && isShared(this.#base) && isShared(this.#planStore);
  }

  get stats(): PolicyStats {
    const eventual = this.#stores.get("eventual");
    return {
      leased: this.#leases?.stats,
      mergedLeased: this.#mergedLeases?.stats,
      splitLeased: this.#splitLeases?.stats,
      shares: this.#shares?.fractions,
      homeLeased: this.#homeLeases?.stats,
      home: this.#homeRegion?.stats,
      regionLeased: this.#regionBudget && { ...this.#regionBudget.stats },
      regionProcessLeased: this.#regionLeases?.stats,
      durableLeased: this.#durableLeases?.stats,
      eventual: eventual instanceof EventualStore ? eventual.stats : undefined,
      merged: this.#merged.length === 0 ? undefined : this.#merged.map(({ stats }) => stats),
      local: this.#local?.stats,
      denyCache: this.#caches.map(({ stats }) => stats).reduce(addCaches, undefined),
    };
  }

  /** Whether there is a store for durable rules. */
  get hasDurable(): boolean {
    return this.#options.durableStore !== undefined;
  }

  /** The store of the home region, if that is another one, or another one may take over. */
  get #home(): Store | undefined {
    const { regions, clock } = this.#options;
    if (hasStandby(regions)) {
      this.#homeRegion ??= openHomeRegion(regions, clock);
      return this.#homeRegion.store;
    }
    return regions === undefined || regions.home === regions.self
      ? undefined
      : regions.stores.get(regions.home);
  }

  /**
   * The lane of a rule. Over a store in this process all consistencies are one: it is exact and never
   * waits. What is cut into shards has a lane for each number of them, over any store.
   */
  of(rule: Pick<Rule, "consistency" | "across" | "shards" | "durable">): Lane {
    const kind = this.#kindOf(rule);
    const { shards } = rule;
    // At home, central rules have the lane of all others.
    const name = `${kind}/${shards}`;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const store = this.#storeOf(kind);
    const regionOf = () => this.#regionOf(rule);
    const lane = {
      store: shards === 1 ? store : sharded(store, { shards }),
      order: ORDER[kind] + shards / 10_000,
      isSharded: shards > 1,
      get region() {
        return regionOf();
      },
    };
    this.#lanes.set(name, lane);
    return lane;
  }

  #kindOf({
    consistency,
    across,
    durable,
  }: Pick<Rule, "consistency" | "across" | "durable">): LaneKind {
    if (durable !== undefined)
      return consistency === "leased" ? "durable leased" : "durable strict";
    const home = across === "central" ? this.#home : undefined;
    if (home !== undefined)
      return consistency === "leased" && isShared(home) ? "home leased" : "home strict";
    // A store in this process is exact and never waits: there is nothing to lease.
    if (across === "leased" && this.regions !== undefined && isShared(this.#homeStore))
      return consistency === "leased" ? "region leased" : "region strict";
    if (across === "leased" && this.#home !== undefined) return "home strict";
    if (across === "split" && this.learnsShares)
      return consistency === "leased" ? "split leased" : "split strict";
    const near = isShared(this.#base) ? consistency : "strict";
    return across === "merged" ? (near === "leased" ? "merged leased" : "merged strict") : near;
  }

  /** The store of the home region, which may be this one. */
  get #homeStore(): Store {
    return this.#home ?? this.#base;
  }

  /**
   * Where shares are planned: in the store of the configured home region, whichever region is home now. Two plans could give
   * the same parts to two regions, and a promoted region could not know what the plan said.
   */
  get #planStore(): Store {
    const { regions } = this;
    if (regions === undefined || regions.home === regions.self) return this.#base;
    return regions.stores.get(regions.home) as Store;
  }

  #regionOf({ across, durable }: Pick<Rule, "across" | "durable">): string | undefined {
    if (durable !== undefined) return undefined;
    if (across !== "central") return this.regions?.self;
    return this.#homeRegion?.home ?? this.regions?.home;
  }

  #storeOf(kind: LaneKind): Store {
    const known = this.#stores.get(kind);
    if (known !== undefined) return known;
    const store = this.#make(kind);
    this.#stores.set(kind, store);
    return store;
  }

  #make(kind: LaneKind): Store {
    if (kind === "durable leased" || kind === "durable strict") return this.#makeDurable(kind);
    if (kind === "home leased" || kind === "home strict") return this.#makeHome(kind);
    if (kind === "region leased" || kind === "region strict") return this.#makeRegion(kind);
    if (kind === "merged leased" || kind === "merged strict") return this.#makeMerged(kind);
    if (kind === "split leased" || kind === "split strict") return this.#makeSplit(kind);
    const base = this.#base;
    const { clock } = this.#options;
    if (!isShared(base)) return base;
    if (kind === "local") {
      this.#local = memoryStore();
      return this.#local;
    }
    const store = new BorrowedStore(toGuarded(base, { clock }));
    switch (kind) {
      case "eventual":
        return eventual(store, { ...this.#options.eventual, clock });
      case "leased":
        this.#leases = leased(store, { ...this.#options.leased, clock });
        return this.#cached(this.#leases, base);
      case "strict":
        return this.#cached(store, base);
    }
  }

  #makeHome(kind: HomeKind): Store {
    const { clock } = this.#options;
    const home = this.#home;
    if (home === undefined) throw new Error("there is no store of the home region");
    const store = new BorrowedStore(toGuarded(home, { clock }));
    if (!isShared(home)) return store;
    if (kind === "home strict") return this.#cached(store, home);
    this.#homeLeases = leased(store, { ...this.#options.leased, clock });
    return this.#cached(this.#homeLeases, home);
  }

  /** Decides in the own region's store as other rules do, and exchanges counts with every other region. */
  #makeMerged(kind: MergedKind): Store {
    const { clock, regions, leased: leases } = this.#options;
    const base = this.#base;
    const own = new BorrowedStore(toGuarded(base, { clock }));
    const peers = [...(regions?.stores ?? [])]
      // Where regions are only checked or replayed, all have the own region's store.
      .filter(([name, store]) => name !== regions?.self && store !== base)
      .map(([name, store]) => [name, new BorrowedStore(toGuarded(store, { clock }))] as const);
    const region = regions?.self ?? "";
    const options = { ...this.#options.merged, region, own, peers: new Map(peers), clock };
    const made = (near: Store) => {
      const store = merged(near, options);
      this.#merged.push(store);
      return store;
    };
    if (!isShared(base)) return made(own);
    if (kind === "merged strict") return made(this.#withCache(own, MERGED_DENY_MS_MAX));
    // What is leased counts as admitted: other regions hear of it when it is leased, not when it is spent.
    this.#mergedLeases = leased(made(own), { ...leases, clock });
    return this.#withCache(this.#mergedLeases, MERGED_DENY_MS_MAX);
  }

  /** Under the region's share of the moment. */
  #makeSplit(kind: SplitKind): Store {
    const { clock, regions, leased: leases } = this.#options;
    const own = new BorrowedStore(toGuarded(this.#base, { clock }));
    this.#shares ??= makeLearnedShares({ own, home: this.#planStore, regions, clock });
    if (kind === "split leased") this.#splitLeases = leased(own, { ...leases, clock });
    const near = kind === "split leased" ? this.#splitLeases : undefined;
    return new LearnedSplitStore(this.#cached(near ?? own, this.#base), this.#shares);
  }

  #makeRegion(kind: RegionKind): Store {
    this.#regionBudget ??= makeRegionBudget({
      own: this.#base,
      home: this.#home,
      regions: this.#options.regions,
      clock: this.#options.clock,
      leaseMs: this.#options.leased.leaseMs,
      isHome: () => this.#homeRegion?.home === this.regions?.self,
    });
    // Both kinds share it; it is closed when what processes leased from it has returned.
    const store = new BorrowedStore(this.#regionBudget.store);
    if (kind === "region strict") return this.#cached(store, this.#base);
    const { clock } = this.#options;
    this.#regionLeases = leased(store, { ...this.#options.leased, clock });
    return this.#cached(this.#regionLeases, this.#base);
  }

  #makeDurable(kind: DurableKind): Store {
    const { clock, durableStore } = this.#options;
    if (durableStore === undefined) throw new Error("a durable rule has a durable store");
    const store = new BorrowedStore(toGuarded(durableStore, { clock }));
    if (kind === "durable strict") return this.#metered(this.#withCache(store));
    this.#durableLeases = leased(store, { ...this.#options.leased, clock });
    return this.#metered(this.#withCache(this.#durableLeases));
  }

  /** Outside of all others: it counts what callers are answered. */
  #metered(store: Store): Store {
    const { admissions } = this.#options;
    return admissions === undefined ? store : new MeteredStore(store, admissions);
  }

  /** Leases are cached too: an exhausted key has no lease, and each of its requests would ask the shared store. */
  #cached(store: Store, base: Store): Store {
    return base instanceof DenyCacheStore ? store : this.#withCache(store);
  }

  #withCache(store: Store, denyCacheMsMax?: number): Store {
    const { clock } = this.#options;
    const life = denyCacheMsMax === undefined ? {} : { denyCacheMsMax };
    const cache = denyCache(store, { clock, ...life });
    this.#caches.push(cache);
    return cache;
  }

  /** Returns what is leased and syncs what is counted. The store itself is its owner's to close. */
  async close(): Promise<void> {
    // A store in this process is its own lane.
    const made = [...this.#stores.values()].filter((store) => store !== this.#base);
    await Promise.all(made.map((store) => store.close()));
    // Last: what processes leased from it has returned.
    await this.#regionBudget?.store.close();
    this.#homeRegion?.close();
  }
}
