// A metric whose values are read when it is scraped, from plain numbers that the hot path adds to: counting a
// decision is then an addition, not a look-up of labels. It is registered with prom-client like any other metric.

import type { Metric, Registry } from "prom-client";

/** One line of a metric: labels and a number. */
export interface MetricLine {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** The name of the line where it differs: `…_bucket`, `…_sum`, `…_count`. */
  readonly metricName?: string;
}

/** What a metric is. */
export interface MetricDefinition {
  readonly name: string;
  /** What is counted, in a sentence: also the text of docs/reference/metrics.md. */
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** How the numbers of several processes become one. Default: `sum`. */
  readonly aggregator?: "sum" | "max" | "first";
}

/** Puts a metric into a registry; `read` is called at each scrape. */
export function addMetric(
  registry: Registry,
  definition: MetricDefinition,
  read: () => Iterable<MetricLine>,
): void {
  const { name, help, type, aggregator = "sum" } = definition;
  const metric = {
    name,
    help,
    type,
    aggregator,
    get: async () => ({ name, help, type, aggregator, values: [...read()] }),
  };
  // The registry asks a metric for its name and for get(); its type names the four classes that have more.
  registry.registerMetric(metric as unknown as Metric<string>);
}
