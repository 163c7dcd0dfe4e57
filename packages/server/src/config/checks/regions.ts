// Checks the section of regions against the rest: it needs stores for this region and for home, and Redis as the
// store.

import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";
import { isRedisUrl, REDIS_URL_EXAMPLE, toRedisPlace } from "./redis-url.js";

const REGIONS_MAX = 32;

/** Checks that regions have stores. */
export function checkRegions(values: FileValues, problems: ConfigProblems): void {
  const { regions, store } = values;
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
  checkAddresses(regions.stores, problems);
  checkStandby(values, problems);
  if (store.kind !== "redis") {
    problems.add(["regions"], "need store.kind redis: a region's processes share its counters");
  }
}

/** Checks that each region has a Redis of its own: one that is shared would count for several regions, or fence itself. */
function checkAddresses(
  stores: NonNullable<FileValues["regions"]>["stores"],
  problems: ConfigProblems,
): void {
  const regionAt = new Map<string, string>();
  for (const [name, { url }] of Object.entries(stores)) {
    const at = ["regions", "stores", name, "url"];
    if (!isRedisUrl(url)) {
      problems.add(at, `must be ${REDIS_URL_EXAMPLE}`);
      continue;
    }
    const place = toRedisPlace(url);
    const other = regionAt.get(place);
    if (other !== undefined) {
      problems.add(at, `is the address of ${other}; every region needs a Redis of its own`);
    }
    regionAt.set(place, name);
  }
}

/** Checks who takes over from the home region. */
function checkStandby(values: FileValues, problems: ConfigProblems): void {
  const { regions, server, control } = values;
  if (regions === undefined) return;
  const { standby, home, takeover, stores } = regions;
  if (standby === undefined) {
    if (takeover === "automatic") {
      problems.add(["regions", "takeover"], "automatic needs regions.standby");
    }
    return;
  }
  const at = ["regions", "standby"];
  if (standby === home) problems.add(at, "must differ from regions.home");
  if (!(standby in stores)) {
    const known = Object.keys(stores).join(", ");
    problems.add(at, `${JSON.stringify(standby)} is not in regions.stores; known: ${known}`);
  }
  if (server.workers > 1) {
    problems.add(at, "can't be set beside server.workers above 1; run more nodes instead");
  }
  const database = control?.database;
  const isArbiter = database === undefined || database.startsWith("postgres");
  if (takeover === "automatic" && (control === undefined || !isArbiter)) {
    const why = "automatic needs control.database with PostgreSQL, or control.follow";
    problems.add(["regions", "takeover"], `${why}: SQLite is one node's own`);
  }
}
