// The benchmarks of rules, in the order in which they run.

import type { Bench } from "../bench.js";
import { scale } from "../rules/scale.js";
import { three } from "../rules/three.js";

export const benches: readonly Bench[] = [three, scale];
