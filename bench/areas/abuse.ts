// The benchmarks of abuse, in the order in which they run.

import { blocked } from "../abuse/blocked.js";
import { cidr } from "../abuse/cidr.js";
import type { Bench } from "../bench.js";

export const benches: readonly Bench[] = [cidr, blocked];
