// The benchmarks of control, in the order in which they run.

import type { Bench } from "../bench.js";
import { keyBytes, keyLookup } from "../control/keys.js";
import { controlPublish } from "../control/publish.js";
import { controlQuiet } from "../control/quiet.js";
import { controlStart } from "../control/start.js";

export const benches: readonly Bench[] = [
  keyLookup,
  keyBytes,
  controlPublish,
  controlStart,
  controlQuiet,
];
