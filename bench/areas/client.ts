// The benchmarks of sluice/client, in the order in which they run.

import type { Bench } from "../bench.js";
import { overhead } from "../client/overhead.js";
import { overload, refused } from "../client/overload.js";

export const benches: readonly Bench[] = [overload, refused, overhead];
