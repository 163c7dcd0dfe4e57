// What of a limit the home region leases out, and what each region keeps as its reserve. Every region computes the same
// from the same numbers: the reserve is a part of the limit that is split by weights, the rest is the home region's, and
// together they are the limit, whatever fails.

import { SluiceError } from "../../../base/errors.js";
import type { Limit } from "../../../limits/limits.js";
import { type Leasable, toLeasable } from "../../leased/leases/leasable.js";
import { partOfLimit } from "../../sharded/split-limit.js";
import type { Counter } from "../../store.js";
import { shareOfLimit, shareUnits } from "../region-shares.js";

/** How limits are leased between regions. */
export interface HomeTermsOptions {
  /** How long a region may hold what it leased. */
  readonly regionLeaseMs: number;
  /** The part of each limit that stays with the regions, from 0 to below 1. */
  readonly reserve: number;
  readonly weights: ReadonlyMap<string, number>;
  readonly self: string;
}

/** A counter between regions. */
export interface HomeTerms extends Leasable {
  /** The counter as the home region has it: without the reserve, and a log for longer. */
  readonly counter: Counter;
  /** Distinguishes deposits under other numbers. */
  readonly version: string;
  /** This region's part of the reserve; undefined if it has none. */
  readonly reserve: Counter | undefined;
}

/** What separates the counters of reserves from others: ids of rules and names of tiers have no such character. */
const RESERVE_SUFFIX = "#reserve";

/** The terms of all counters, each computed once. */
export class AllHomeTerms {
  readonly #options: HomeTermsOptions;
  readonly #byCounter = new WeakMap<Counter, HomeTerms>();

  constructor(options: HomeTermsOptions) {
    this.#options = options;
  }

  /** @throws SluiceError `SLUICE_NOT_LEASABLE` if the counter can't be leased. */
  of(counter: Counter): HomeTerms {
    const known = this.#byCounter.get(counter);
    if (known !== undefined) return known;
    const terms = toTerms(counter, this.#options);
    this.#byCounter.set(counter, terms);
    return terms;
  }
}

function toTerms(counter: Counter, options: HomeTermsOptions): HomeTerms {
  const parts = reserveOf(counter.limit, options);
  const home = parts === undefined ? counter : Object.freeze({ ...counter, limit: parts.home });
  const leasable = toLeasable(home, { leaseMs: options.regionLeaseMs, logs: "leased" });
  const version = JSON.stringify(leasable.counter.limit);
  if (parts?.own === undefined) return { ...leasable, version, reserve: undefined };
  const scope = counter.scope + RESERVE_SUFFIX;
  return { ...leasable, version, reserve: Object.freeze({ ...counter, scope, limit: parts.own }) };
}

/** The home region's part of a limit, and this region's part of the reserve; undefined if there is no reserve. */
function reserveOf(
  limit: Limit,
  { reserve, weights, self }: HomeTermsOptions,
): { home: Limit; own: Limit | undefined } | undefined {
  const { capacity } = limit;
  const units = Math.floor(capacity * reserve);
  if (units === 0) return undefined;
  const left = capacity - units;
  try {
    const home = partOfLimit(limit, left, { part: left, of: capacity });
    const whole = partOfLimit(limit, units, { part: units, of: capacity });
    // Of every region, so that all of them see the same error.
    const shares = [...shareUnits(units, weights)].filter(([, share]) => share > 0);
    const limits = new Map(shares.map(([name]) => [name, shareOfLimit(whole, weights, name)]));
    return { home, own: limits.get(self) };
  } catch (error) {
    // A rate that can't be divided exactly has no reserve, in any region.
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}
