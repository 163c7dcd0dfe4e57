// Checks the section of regions against the rest: it needs stores for this region and for home, and Redis as the
// store.

import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";
import { isRedisUrl, REDIS_URL_EXAMPLE } from "./redis-url.js";

const REGIONS_MAX = 32;

/** Checks that regions have stores. */
export function checkRegions({ regions, store }: FileValues, problems: ConfigProblems): void {
  if (regions === undefined) return;
  const names = Object.keys(regions.stores);
  if (names.length === 0 || names.length > REGIONS_MAX) {
    problems.add(
      ["regions", "stores"],
      `must have 1 to ${REGIONS_MAX} entries, got ${names.length}`,
    );
    return;
  }
  for (const field of ["self", "home"] as const) {
    const name = regions[field];
    if (names.includes(name)) continue;
    problems.add(
      ["regions", field],
      `${JSON.stringify(name)} is not in regions.stores; known: ${names.join(", ")}`,
    );
  }
  for (const name of names) {
    if (isRedisUrl(regions.stores[name].url)) continue;
    problems.add(["regions", "stores", name, "url"], `must be ${REDIS_URL_EXAMPLE}`);
  }
  if (store.kind !== "redis") {
    problems.add(["regions"], "need store.kind redis: a region's processes share its counters");
  }
}
