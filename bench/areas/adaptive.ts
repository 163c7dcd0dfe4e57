// The benchmarks of adaptive limits, in the order in which they run.

import { goodput } from "../adaptive/goodput.js";
import { overhead } from "../adaptive/overhead.js";
import type { Bench } from "../bench.js";

export const benches: readonly Bench[] = [goodput, overhead];
