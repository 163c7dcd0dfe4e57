// The benchmarks of import, in the order in which they run.

import type { Bench } from "../bench.js";
import { importCore, importExpress } from "../import/import.js";

export const benches: readonly Bench[] = [importExpress, importCore];
