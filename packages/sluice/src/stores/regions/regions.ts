// The regions of a policy: each has a store of its own, and one of them is home to the limits that all regions count
// together. Read from options, and checked here, so that nothing behind it has to ask again.

import { readOption, refuse } from "../../base/shapes/code-options.js";
import {
  anyNumber,
  mapOf,
  nameHint,
  object,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import { anyStore } from "../any-store.js";
import type { Store } from "../store.js";

/** Regions that share limits, each with a store of its own. */
export interface RegionsOptions {
  /** The region that this process runs in. */
  self: string;
  /** The region whose store decides rules with `across: central`. */
  home: string;
  /**
   * The stores of regions by their names, 1 to 64 letters, digits, `_`, `-` or `.`: at least those of `self` and `home`,
   * which are the ones that are asked. At most 32.
   */
  stores: Readonly<Record<string, Store>>;
  /**
   * The weight of each region, by which rules with `across: split` share their limits: whole numbers from 1 to 1,000,
   * for all regions. Default: 1 for each that has a store here.
   */
  weights?: Readonly<Record<string, number>>;
  /**
   * How long a region may hold what it leased from the home region for rules with `across: leased`, in milliseconds from
   * 1,000 to 60,000; default 5,000. Blocks, resets and changed limits reach other regions within it.
   */
  leaseMs?: number;
  /**
   * The part of limits with `across: leased` that stays with the regions, split by weights, for when the home region
   * refuses or can't be reached: from 0 to 0.9, default 0.
   */
  reserve?: number;
}

/** Regions, validated and filled in. Every process of every region has to have the same names, home and weights. */
export interface Regions {
  readonly self: string;
  readonly home: string;
  readonly stores: ReadonlyMap<string, Store>;
  readonly weights: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly reserve: number;
}

const REGIONS_MAX = 32;
const WEIGHT_MAX = 1_000;
/** How long a region may hold what it leased. */
export const REGION_LEASE_MS = { min: 1_000, max: 60_000, default: 5_000 } as const;
/** The most of a limit that stays with the regions. */
export const RESERVE_MAX = 0.9;
const NAME = /^[\w.-]{1,64}$/;

/** The name of a region. */
export const regionName: Shape<string> = {
  what: "1 to 64 letters, digits or _ - .",
  schema: { type: "string", pattern: NAME.source },
  read: (value, spot) =>
    typeof value === "string" && NAME.test(value) ? value : spot.refuse(regionName.what, value),
};

const counts = { countMax: REGIONS_MAX };
const OPTIONS = object({
  self: required(regionName),
  home: required(regionName),
  stores: required(mapOf(regionName, anyStore, counts)),
  weights: optional(mapOf(regionName, wholeNumber({ min: 1, max: WEIGHT_MAX }), counts)),
  leaseMs: withDefault(wholeNumber(REGION_LEASE_MS), REGION_LEASE_MS.default),
  reserve: withDefault(anyNumber({ min: 0, max: RESERVE_MAX }), 0),
} satisfies Record<keyof RegionsOptions, unknown>);

/**
 * Validates regions and fills in defaults.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if `self` or `home` names a region without a store, or a region with a
 * store has no weight where others do.
 */
export function toRegions(options: RegionsOptions): Regions {
  const read = readOption(SITE, "regions", OPTIONS, options);
  const { self, home, stores, weights } = read;
  const names = [...stores.keys()];
  const mustHaveStore = (name: string, field: string) => {
    if (stores.has(name)) return;
    refuse(
      SITE,
      `regions.${field} names ${JSON.stringify(name)}, which has no store${nameHint(name, names)}`,
    );
  };
  mustHaveStore(self, "self");
  mustHaveStore(home, "home");
  const missing = names.find((name) => weights?.has(name) === false);
  if (missing !== undefined) {
    refuse(
      SITE,
      `regions.weights has no weight for ${JSON.stringify(missing)}; give every region one`,
    );
  }
  const { leaseMs, reserve } = read;
  const evenly = () => new Map(names.map((name) => [name, 1]));
  return { self, home, stores, weights: weights ?? evenly(), leaseMs, reserve };
}

const SITE = { name: "createPolicy", code: "SLUICE_OPTION_INVALID" } as const;
