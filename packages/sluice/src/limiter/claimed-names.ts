// Names of limiters over one store. Two of the same name count under the same keys there; if their numbers
// differ, each clips what the other has counted, and nothing would show why. So the second one is an error.

import { type OptionSite, refuse } from "../base/shapes/code-options.js";

/** Limits as JSON, and how many limiters have them now. */
interface NameClaim {
  readonly limits: string;
  holders: number;
}

const claimsOf = new WeakMap<object, Map<string, NameClaim>>();

/** At most this many names are claimed for each store; further ones are not checked. */
const NAMES_MAX = 10_000;

/** The name under which a limiter or rule counts, and its limits. */
export interface Claimed {
  readonly name: string;
  readonly limits: unknown;
  /** Whether no other limiter may have the name, even with the same limits, because it is a default and not chosen. */
  readonly isAlone?: boolean;
}

/**
 * Claims a name for these limits, until the function that it returns is called. Throws the site's error
 * if the name is in use over the same store for other limits.
 */
export function claimName(
  site: OptionSite,
  store: object,
  { name, limits, isAlone = false }: Claimed,
): () => void {
  const claims = claimsOf.get(store) ?? new Map<string, NameClaim>();
  claimsOf.set(store, claims);
  const json = JSON.stringify(limits);
  const claim = claims.get(name) ?? { limits: json, holders: 0 };
  if (isAlone && claim.holders > 0) {
    refuse(
      site,
      "another limiter without a name uses this store, and the two would share their counters; " +
        'give each a name, such as name: "login", or close() the first one',
    );
  }
  if (claim.limits !== json) {
    refuse(
      site,
      `the name ${JSON.stringify(name)} is in use over this store with other numbers, and the two would share ` +
        "their counters; give each a name of its own, or close() the first one",
    );
  }
  claim.holders++;
  if (claims.size < NAMES_MAX) claims.set(name, claim);
  let isHeld = true;
  return () => {
    if (isHeld) claim.holders--;
    isHeld = false;
    if (claim.holders === 0 && claims.get(name) === claim) claims.delete(name);
  };
}
