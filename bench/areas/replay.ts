// The benchmarks of replays, in the order in which they run.

import type { Bench } from "../bench.js";
import { replayMemory } from "../replay/memory.js";
import { replaySpeed } from "../replay/speed.js";

export const benches: readonly Bench[] = [replaySpeed, replayMemory];
