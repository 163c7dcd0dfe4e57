// What policies and stores count of themselves, found by asking: each store tells its figures as `stats`,
// and what kind they are shows in what they hold.

import type {
  DenyCacheStats,
  EventualStats,
  LeasedStats,
  MemoryStoreStats,
  ResilientStats,
  Store,
} from "sluice";
import type { Policy, Rule } from "sluice/rules";

/** A service has a handful of policies and stores. */
const SOURCES_MAX = 100;

/** Figures by kind, one for each store that has them. */
export interface StoreFigures {
  readonly memory: MemoryStoreStats[];
  readonly resilient: ResilientStats[];
  readonly leased: LeasedStats[];
  readonly eventual: EventualStats[];
  readonly denyCache: DenyCacheStats[];
}

/** The policies and stores whose figures are told. */
export class Figures {
  readonly #policies = new Set<Policy>();
  readonly #stores = new Set<{ readonly stats: object }>();
  #figures: StoreFigures | undefined;

  /** Asks it from now on. Stores without figures, and what is watched already, change nothing. */
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

  /** All figures as they are now; looked up once for all metrics of a scrape, which are read in one turn. */
  read(): StoreFigures {
    if (this.#figures === undefined) {
      this.#figures = this.#collect();
      queueMicrotask(() => {
        this.#figures = undefined;
      });
    }
    return this.#figures;
  }

  #collect(): StoreFigures {
    const figures: StoreFigures = {
      memory: [],
      resilient: [],
      leased: [],
      eventual: [],
      denyCache: [],
    };
    for (const { stats } of this.#stores) sort(stats, figures);
    for (const { stats } of this.#policies) {
      for (const part of [stats.leased, stats.eventual, stats.denyCache]) {
        if (part !== undefined) sort(part, figures);
      }
    }
    return figures;
  }
}

function sort(stats: object, figures: StoreFigures): void {
  if ("evictions" in stats) figures.memory.push(stats as MemoryStoreStats);
  else if ("unsettled" in stats) figures.resilient.push(stats as ResilientStats);
  else if ("unitsLeased" in stats) figures.leased.push(stats as LeasedStats);
  else if ("overshootUnitsMax" in stats) figures.eventual.push(stats as EventualStats);
  else if ("lease" in stats) figures.leased.push(stats.lease as LeasedStats);
  else if ("hits" in stats) figures.denyCache.push(stats as DenyCacheStats);
}

function isPolicy(source: Policy | Store): source is Policy {
  return "admit" in source;
}

function hasStats(source: object): source is { readonly stats: object } {
  const { stats } = source as { readonly stats?: unknown };
  return typeof stats === "object" && stats !== null;
}
