// Lines of the log about figures that depart from their baselines, and about the end of that.

import type { Logger } from "pino";
import type { Anomaly } from "../tally/anomaly-watch.js";

/** Logs that a figure departs from its baseline, or no longer does. */
export function logAnomaly(log: Logger, change: "began" | "ended", anomaly: Anomaly): void {
  const { figure, rule, value, mean, distance } = anomaly;
  const line = { figure, rule, value: round(value), mean: round(mean), distance: round(distance) };
  if (change === "began") log.warn(line, "anomaly: far above what is usual");
  else log.info(line, "anomaly ended");
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
