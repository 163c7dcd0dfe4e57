// The benchmarks of sketches, in the order in which they run.

import type { Bench } from "../bench.js";
import { bytes, wrong } from "../sketch/accuracy.js";
import { check } from "../sketch/check.js";

export const benches: readonly Bench[] = [bytes, check, wrong];
