// The benchmarks of redis, in the order in which they run.

import type { Bench } from "../bench.js";
import { bytes } from "../redis/bytes.js";
import { cpu } from "../redis/cpu.js";
import { eventual } from "../redis/eventual.js";
import { flood } from "../redis/flood.js";
import { latency } from "../redis/latency.js";
import { leased } from "../redis/leased.js";
import { leasedCommands } from "../redis/leased-commands.js";
import { strict, threeRules } from "../redis/strict.js";

export const benches: readonly Bench[] = [
  strict,
  cpu,
  threeRules,
  leased,
  leasedCommands,
  flood,
  eventual,
  bytes,
  latency,
];
