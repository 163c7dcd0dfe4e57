// The metrics of rules that count in sketches: how large they are, how full, and how far a count may be off.

import type { SketchStats } from "sluice";
import type { MetricDefinition, MetricLine } from "./sampled-metric.js";
import type { WatchedStats } from "./store-stats.js";

/** Their definitions, a part of all metrics. */
export const SKETCH_METRICS = {
  sketchBytes: gauge(
    "rate_limiter_sketch_bytes",
    "Bytes of the sketches of a rule, their exact counters included.",
    "sum",
  ),
  sketchFill: gauge(
    "rate_limiter_sketch_fill_ratio",
    "The share of a sketch's cells that are in use in the current window.",
    "max",
  ),
  sketchError: gauge(
    "rate_limiter_sketch_error_units",
    "Units by which a sketch over-counts a key that it never saw, measured now.",
    "max",
  ),
  sketchErrorMax: gauge(
    "rate_limiter_sketch_error_units_max",
    "Units by which a sketch may over-count a key, with its confidence: its errorShare of the units of this window.",
    "max",
  ),
} as const satisfies Record<string, MetricDefinition>;

/** What reads their values. */
export const sketchReaders: Readonly<
  Record<
    keyof typeof SKETCH_METRICS,
    (sources: { readonly stats: WatchedStats }) => Iterable<MetricLine>
  >
> = {
  sketchBytes: byRule((sketches) => sketches.reduce((sum, { bytes }) => sum + bytes, 0)),
  sketchFill: byRule((sketches) => Math.max(...sketches.map(({ fill }) => fill))),
  sketchError: byRule((sketches) => Math.max(...sketches.map(({ errorUnits }) => errorUnits))),
  sketchErrorMax: byRule((sketches) =>
    Math.max(...sketches.map(({ errorUnitsMax }) => errorUnitsMax)),
  ),
};

/** One line for each rule with sketches; a tier that is counted apart is a rule of its own here. */
function byRule(toValue: (sketches: readonly SketchStats[]) => number) {
  return function* ({ stats }: { readonly stats: WatchedStats }): Iterable<MetricLine> {
    const byScope = new Map<string, SketchStats[]>();
    for (const { sketches } of stats.read().memory) {
      for (const sketch of sketches) {
        byScope.set(sketch.scope, [...(byScope.get(sketch.scope) ?? []), sketch]);
      }
    }
    for (const [rule, sketches] of byScope) yield { labels: { rule }, value: toValue(sketches) };
  };
}

function gauge(
  name: string,
  help: string,
  aggregator: MetricDefinition["aggregator"] & string,
): MetricDefinition {
  return { name, help, type: "gauge", labels: ["rule"], aggregator };
}
