// The benchmarks of accuracy, in the order in which they run.

import { slidingCounter } from "../accuracy/sliding-counter.js";
import type { Bench } from "../bench.js";

export const benches: readonly Bench[] = [slidingCounter];
