// The benchmarks of several regions, in the order in which they run.

import type { Bench } from "../bench.js";
import { leased } from "../regions/leased.js";
import { regionsMerged } from "../regions/merged.js";
import { traffic } from "../regions/traffic.js";

export const benches: readonly Bench[] = [leased, regionsMerged, traffic];
