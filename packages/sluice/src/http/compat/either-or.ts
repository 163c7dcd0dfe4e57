// Options of other limiters beside ours: if two names mean the same thing, only one may be given, and some options
// are not supported.

import { type OptionSite, refuse } from "../../base/shapes/code-options.js";

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
  const isGiven = (name: K) =>
    options[name] !== undefined && !(options[name] === false && switches.includes(name));
  for (const [one, other] of pairs) {
    if (isGiven(one) && isGiven(other)) refuse(site, `takes ${one} or ${other}, not both`);
  }
}

/** Refuses options of another limiter that can't be kept, and says for each what to do instead. */
export function refuseNotKept(
  site: OptionSite,
  options: object,
  limiter: string,
  instead: Readonly<Record<string, string>>,
): void {
  for (const [name, advice] of Object.entries(instead)) {
    if (Object.hasOwn(options, name)) refuse(site, `${name} is ${limiter}'s; ${advice}`);
  }
}
