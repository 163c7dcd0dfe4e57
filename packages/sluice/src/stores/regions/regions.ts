// The regions of a policy: each has a store of its own, and one of them is home to the limits that all regions count
// together. Read from options, and checked here, so that nothing behind it has to ask again.

import { readOption, refuse } from "../../base/shapes/code-options.js";
import {
  mapOf,
  nameHint,
  object,
  optional,
  required,
  type Shape,
  wholeNumber,
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
}

/** Regions, validated and filled in. Every process of every region has to have the same names, home and weights. */
export interface Regions {
  readonly self: string;
  readonly home: string;
  readonly stores: ReadonlyMap<string, Store>;
  readonly weights: ReadonlyMap<string, number>;
}

const REGIONS_MAX = 32;
const WEIGHT_MAX = 1_000;
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
} satisfies Record<keyof RegionsOptions, unknown>);

/**
 * Validates regions and fills in defaults.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if `self` or `home` names a region without a store, or a region with a
 * store has no weight where others do.
 */
export function toRegions(options: RegionsOptions): Regions {
  const { self, home, stores, weights } = readOption(SITE, "regions", OPTIONS, options);
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
  return { self, home, stores, weights: weights ?? new Map(names.map((name) => [name, 1])) };
}

const SITE = { name: "createPolicy", code: "SLUICE_OPTION_INVALID" } as const;
