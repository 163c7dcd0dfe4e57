// Options that are two names for one thing, ours and that of the library which somebody comes from: only one
// of them can be meant.

import { type OptionSite, refuse } from "../options.js";

/** Pairs of names, and the names whose `false` is the same as leaving them out. */
export interface EitherOr<K extends string> {
  readonly pairs: readonly (readonly [K, K])[];
  readonly switches: readonly K[];
}

/** Refuses options that say both of a pair. */
export function refuseBoth<K extends string>(
  site: OptionSite,
  options: { readonly [Name in K]?: unknown },
  { pairs, switches }: EitherOr<K>,
): void {
  const isSaid = (name: K) =>
    options[name] !== undefined && !(options[name] === false && switches.includes(name));
  for (const [one, other] of pairs) {
    if (isSaid(one) && isSaid(other)) refuse(site, `takes ${one} or ${other}, not both`);
  }
}
