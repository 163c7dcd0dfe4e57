// The benchmarks of bounded, in the order in which they run.

import type { Bench } from "../bench.js";
import { evict } from "../bounded/evict.js";

export const benches: readonly Bench[] = [evict];
