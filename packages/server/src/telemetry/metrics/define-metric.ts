// Kinds of metrics, each with its labels and how several processes add up.

import type { MetricDefinition } from "./sampled-metric.js";

/** A number that only grows. */
export function counter(
  name: string,
  help: string,
  labels: readonly string[] = [],
  aggregator: MetricDefinition["aggregator"] = "sum",
): MetricDefinition {
  return { name, help, type: "counter", labels, aggregator };
}

/** A number that goes up and down. */
export function gauge(
  name: string,
  help: string,
  labels: readonly string[] = [],
  aggregator: MetricDefinition["aggregator"] = "sum",
): MetricDefinition {
  return { name, help, type: "gauge", labels, aggregator };
}

/** Durations by how long they were. */
export function histogram(name: string, help: string, labels: readonly string[]): MetricDefinition {
  return { name, help, type: "histogram", labels };
}
