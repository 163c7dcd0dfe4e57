// The benchmarks of http, in the order in which they run.

import type { Bench } from "../bench.js";
import { express, fastify, node } from "../http/throughput.js";

export const benches: readonly Bench[] = [node, express, fastify];
