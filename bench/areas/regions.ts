// The benchmarks of regions that share limits.

import type { Bench } from "../bench.js";
import { regionsMerged } from "../regions/merged.js";

export const benches: readonly Bench[] = [regionsMerged];
