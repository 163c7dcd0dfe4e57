// The benchmark of the simulator.

import type { Bench } from "../bench.js";
import { simSpeed } from "../sim/speed.js";

export const benches: readonly Bench[] = [simSpeed];
