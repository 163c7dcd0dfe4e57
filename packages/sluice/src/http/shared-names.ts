// Names of limits in code over one store. Two limits of one name count under the same keys there; if
// their numbers differ, each clips what the other has counted, and nobody would see why. So the second
// one is refused.

import { type OptionSite, refuse } from "../options.js";
import type { Store } from "../stores/store.js";

/** Limits as text, and how many doors have them now. */
interface Claim {
  readonly limits: string;
  doors: number;
}

const claimsOf = new WeakMap<Store, Map<string, Claim>>();

/** So many names are watched for each store; further ones are free. */
const NAMES_MAX = 10_000;

/**
 * Claims a name for these limits, until the function that it returns is called. Throws the site's error
 * if a door over the same store has it for other limits.
 */
export function claimName(
  site: OptionSite,
  store: Store,
  { name, limits }: { readonly name: string; readonly limits: unknown },
): () => void {
  const claims = claimsOf.get(store) ?? new Map<string, Claim>();
  claimsOf.set(store, claims);
  const text = JSON.stringify(limits);
  const claim = claims.get(name) ?? { limits: text, doors: 0 };
  if (claim.limits !== text) {
    refuse(
      site,
      `the store has another limit of the name ${JSON.stringify(name)} with other numbers: ` +
        "they would count as one; give each a name of its own",
    );
  }
  claim.doors++;
  if (claims.size < NAMES_MAX) claims.set(name, claim);
  let isHeld = true;
  return () => {
    if (isHeld) claim.doors--;
    isHeld = false;
    if (claim.doors === 0 && claims.get(name) === claim) claims.delete(name);
  };
}
