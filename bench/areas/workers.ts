// The benchmarks of workers, in the order in which they run.

import type { Bench } from "../bench.js";
import { workersEnvoy, workersGateway, workersRefuse } from "../workers/workers.js";

export const benches: readonly Bench[] = [workersGateway, workersRefuse, workersEnvoy];
