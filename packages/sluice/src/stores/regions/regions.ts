// The regions of a policy: each has a store of its own, and one of them is home to the limits that all regions count
// together. Read from options, and checked here, so that nothing behind it has to ask again.

import { readOption, refuse } from "../../base/shapes/code-options.js";
import {
  anyNumber,
  anything,
  choice,
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
import type { HomeArbiter } from "./fenced/home-arbiter.js";
import { partsByWeight } from "./split/share-parts.js";

/** How limits with `across: split` are shared. */
export const SHARES = ["weights", "learned"] as const;
export type SharesMode = (typeof SHARES)[number];

/** Regions that share limits, each with a store of its own. */
export interface RegionsOptions {
  /** The region that this process runs in. */
  self: string;
  /** The region whose store decides rules with `across: central`, and leases out those with `across: leased`. */
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
   * How limits with `across: split` are shared: `weights`, or `learned`, where shares start by weight and follow demand.
   * Default `weights`. Shares can't be learned over stores in this process.
   */
  shares?: SharesMode;
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
  /**
   * The region that takes over when the home region is lost. Its store and that of the home region are then fenced: each
   * decides only while it is recorded there that it is home. Default: none.
   */
  standby?: string;
  /**
   * Who decides that the home region is lost: an operator (`manual`, default), or `arbiter` (`automatic`). The same in
   * every process; one without `arbiter` follows the others.
   */
  takeover?: "manual" | "automatic";
  /** Arbitrates between regions if `takeover` is `automatic`. */
  arbiter?: HomeArbiter;
  /**
   * How long the home region may decide after it was last renewed, in milliseconds from 1,000 to 600,000; default 15,000.
   * Processes renew it several times as often. A standby waits for it if it can't fence the home region.
   */
  permissionMs?: number;
  /**
   * Limits that recover within so many milliseconds, from 0 to a day, are refused after a promotion until nothing counts
   * any more that the old home region may have admitted. Others start full. Default 60,000.
   */
  promotionWaitMs?: number;
}

/** The region that takes over when the home region is lost, and how. */
export interface Standby {
  readonly name: string;
  readonly takeover: "manual" | "automatic";
  readonly arbiter: HomeArbiter | undefined;
  readonly permissionMs: number;
  readonly promotionWaitMs: number;
}

/** Regions, validated and filled in. Every process of every region has to have the same names, home and weights. */
export interface Regions {
  readonly self: string;
  readonly home: string;
  readonly stores: ReadonlyMap<string, Store>;
  readonly weights: ReadonlyMap<string, number>;
  readonly shares: SharesMode;
  readonly leaseMs: number;
  readonly reserve: number;
  /** Undefined if no region takes over. */
  readonly standby: Standby | undefined;
}

const REGIONS_MAX = 32;
const WEIGHT_MAX = 1_000;
/** How long a region may hold what it leased. */
export const REGION_LEASE_MS = { min: 1_000, max: 60_000, default: 5_000 } as const;
/** The most of a limit that stays with the regions. */
export const RESERVE_MAX = 0.9;
/** How long home may decide after it was renewed. */
export const PERMISSION_MS = { min: 1_000, max: 600_000, default: 15_000 } as const;
/** Limits that recover within it wait after a promotion. */
export const PROMOTION_WAIT_MS = { min: 0, max: 86_400_000, default: 60_000 } as const;
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
  shares: withDefault(choice(SHARES), "weights"),
  leaseMs: withDefault(wholeNumber(REGION_LEASE_MS), REGION_LEASE_MS.default),
  reserve: withDefault(anyNumber({ min: 0, max: RESERVE_MAX }), 0),
  standby: optional(regionName),
  takeover: withDefault(choice(["manual", "automatic"]), "manual"),
  arbiter: optional(anything()),
  permissionMs: withDefault(wholeNumber(PERMISSION_MS), PERMISSION_MS.default),
  promotionWaitMs: withDefault(wholeNumber(PROMOTION_WAIT_MS), PROMOTION_WAIT_MS.default),
} satisfies Record<keyof RegionsOptions, unknown>);

/**
 * Validates regions and fills in defaults.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if `self`, `home` or `standby` names a region without a store, the standby is
 * the home region or has its store, or a region with a store has no weight where others do.
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
  if (read.standby !== undefined) mustHaveStore(read.standby, "standby");
  if (read.standby === home) refuse(SITE, `regions.standby is the home region ${home} itself`);
  if (read.standby !== undefined && stores.get(read.standby) === stores.get(home))
    refuse(SITE, `regions.standby ${read.standby} has the same store as the home region ${home}`);
  const missing = names.find((name) => weights?.has(name) === false);
  if (missing !== undefined) {
    refuse(
      SITE,
      `regions.weights has no weight for ${JSON.stringify(missing)}; give every region one`,
    );
  }
  const { leaseMs, reserve, shares } = read;
  const all = weights ?? new Map(names.map((name) => [name, 1]));
  if (shares === "learned") mustBeLearnable(all);
  const standby = toStandby(read);
  return { self, home, stores, weights: all, shares, leaseMs, reserve, standby };
}

function toStandby(read: StandbyOptions): Standby | undefined {
  const { standby: name, takeover, permissionMs, promotionWaitMs } = read;
  if (name === undefined) return undefined;
  return { name, takeover, permissionMs, promotionWaitMs, arbiter: read.arbiter as HomeArbiter };
}

interface StandbyOptions extends Omit<Standby, "name" | "arbiter"> {
  readonly standby?: string | undefined;
  readonly arbiter?: unknown;
}

const SITE = { name: "createPolicy", code: "SLUICE_OPTION_INVALID" } as const;

/** Shares are learned in whole hundredths, of which every region starts with one at least. */
function mustBeLearnable(weights: ReadonlyMap<string, number>): void {
  for (const [name, parts] of partsByWeight(weights)) {
    if (parts > 0) continue;
    const why = "less than a hundredth of all; raise it, or use shares: weights";
    refuse(SITE, `regions.shares: learned: the weight of ${name} is ${why}`);
  }
}
