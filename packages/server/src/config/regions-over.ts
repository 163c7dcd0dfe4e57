// The regions of a configuration over stores, as the library takes them.

import type { Store } from "sluice";
import type { HomeArbiter, RegionsOptions } from "sluice/rules";
import type { RegionsConfig } from "./config.js";

/** The stores of other regions. */
export interface OtherStores {
  /** Default: the own region's store, for policies that only check or replay rules. */
  readonly home?: Store | undefined;
  /** That of the region that may take over; undefined: none does, as in policies that only check or replay rules. */
  readonly standby?: Store | undefined;
  /** Arbitrates between home and standby; undefined: other nodes ask it, or there is none. */
  readonly arbiter?: HomeArbiter | undefined;
  /** Those of the rest, by name. Default: the own region's store, with which no counts are exchanged. */
  readonly peers?: Readonly<Record<string, Store>>;
}

/** The regions, with a store for each. */
export function regionsOver(
  own: Store,
  config: RegionsConfig,
  { home = own, peers = {}, ...others }: OtherStores = {},
): RegionsOptions {
  const { self, home: homeName, stores, shares, leaseMs, reserve } = config;
  const all = Object.fromEntries(Object.keys(stores).map((name) => [name, own]));
  const weights = Object.entries(stores).map(([name, { weight }]) => [name, weight] as const);
  const regions = {
    self,
    home: homeName,
    stores: { ...all, ...peers, [homeName]: home, [self]: own },
    weights: Object.fromEntries(weights),
    leaseMs,
    reserve,
    shares,
  };
  const { standby, takeover, permissionMs, promotionWaitMs } = config;
  const { standby: store = own, arbiter } = others;
  if (standby === undefined || store === home) return regions;
  return {
    ...regions,
    stores: { ...regions.stores, [standby]: store },
    standby,
    takeover,
    permissionMs,
    promotionWaitMs,
    ...(arbiter === undefined ? {} : { arbiter }),
  };
}
