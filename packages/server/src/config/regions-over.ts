// The regions of a configuration over stores, as the library takes them.

import type { Store } from "sluice";
import type { RegionsOptions } from "sluice/rules";
import type { RegionsConfig } from "./config.js";

/**
 * The regions, with a store for the own region and for home: no other is asked.
 *
 * @param home - Default: the own region's store, for policies that only check or replay rules.
 */
export function regionsOver(
  own: Store,
  { self, home: homeName, stores }: RegionsConfig,
  home: Store = own,
): RegionsOptions {
  const weights = Object.entries(stores).map(([name, { weight }]) => [name, weight] as const);
  return {
    self,
    home: homeName,
    stores: { [homeName]: home, [self]: own },
    weights: Object.fromEntries(weights),
  };
}
