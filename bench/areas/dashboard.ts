// The benchmarks of dashboard, in the order in which they run.

import type { Bench } from "../bench.js";
import { dashboardFirstPaint } from "../dashboard/first-paint.js";
import { dashboardCost, dashboardPages } from "../dashboard/live.js";
import { dashboardWeight } from "../dashboard/weight.js";

export const benches: readonly Bench[] = [
  dashboardWeight,
  dashboardCost,
  dashboardPages,
  dashboardFirstPaint,
];
