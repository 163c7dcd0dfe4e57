// The regions of a configuration over stores, as the library takes them.

import type { Store } from "sluice";
import type { RegionsOptions } from "sluice/rules";
import type { RegionsConfig } from "./config.js";

/** The stores of other regions. */
export interface OtherStores {
  /** Default: the own region's store, for policies that only check or replay rules. */
  readonly home?: Store | undefined;
  /** Those of the rest, by name. Default: the own region's store, with which no counts are exchanged. */
  readonly peers?: Readonly<Record<string, Store>>;
}

/** The regions, with a store for each. */
export function regionsOver(
  own: Store,
  { self, home: homeName, stores, leaseMs, reserve }: RegionsConfig,
  { home = own, peers = {} }: OtherStores = {},
): RegionsOptions {
  const all = Object.fromEntries(Object.keys(stores).map((name) => [name, own]));
  const weights = Object.entries(stores).map(([name, { weight }]) => [name, weight] as const);
  return {
    self,
    home: homeName,
    stores: { ...all, ...peers, [homeName]: home, [self]: own },
    weights: Object.fromEntries(weights),
    leaseMs,
    reserve,
  };
}
