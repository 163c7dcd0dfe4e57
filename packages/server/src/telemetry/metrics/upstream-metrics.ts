// The metrics of upstreams with adaptive limits or circuit breakers, read from their current state. Labels are names of the
// configuration; a limit of an upstream as a whole has the route *.

import type { UpstreamLoad } from "../reported.js";
import type { UpstreamLoads } from "../top/upstream-loads.js";
import { counter, gauge } from "./define-metric.js";
import type { MetricDefinition, MetricLine } from "./sampled-metric.js";

/** Their definitions. */
export const UPSTREAM_METRICS = {
  adaptiveLimit: gauge(
    "rate_limiter_adaptive_limit",
    "The adaptive limit of concurrent requests now.",
    ["upstream", "route"],
  ),
  adaptiveInFlight: gauge(
    "rate_limiter_adaptive_in_flight",
    "Requests that wait for the head of a response under an adaptive limit.",
    ["upstream", "route"],
  ),
  shed: counter(
    "rate_limiter_shed_total",
    "Requests that were shed with status 503, by priority and reason: overloaded or circuit-open.",
    ["upstream", "route", "priority", "reason"],
  ),
  breakerOpen: gauge(
    "rate_limiter_upstream_breaker_open",
    "1 while the circuit breaker of an upstream is open or tests whether it is back, else 0.",
    ["upstream"],
    "max",
  ),
} as const satisfies Record<string, MetricDefinition>;

interface Sources {
  readonly loads: UpstreamLoads;
}

/** What their values are read from. */
export const UPSTREAM_READERS: Readonly<
  Record<keyof typeof UPSTREAM_METRICS, (sources: Sources) => Iterable<MetricLine>>
> = {
  adaptiveLimit: ({ loads }) => linesOf(loads.read(), ({ limit }) => limit),
  adaptiveInFlight: ({ loads }) => linesOf(loads.read(), ({ inFlight }) => inFlight),
  *shed({ loads }) {
    for (const load of loads.read()) {
      for (const [priority, value] of Object.entries(load.shed ?? {})) {
        yield { labels: { ...labelsOf(load), priority, reason: "overloaded" }, value };
      }
      for (const [priority, value] of Object.entries(load.breakerShed ?? {})) {
        yield { labels: { ...labelsOf(load), priority, reason: "circuit-open" }, value };
      }
    }
  },
  *breakerOpen({ loads }) {
    for (const { upstream, breaker } of loads.read()) {
      if (breaker !== null) yield { labels: { upstream }, value: breaker === "closed" ? 0 : 1 };
    }
  },
};

function* linesOf(
  loads: readonly UpstreamLoad[],
  pick: (load: UpstreamLoad) => number | null,
): Iterable<MetricLine> {
  for (const load of loads) {
    const value = pick(load);
    if (value !== null) yield { labels: labelsOf(load), value };
  }
}

function labelsOf({ upstream, route }: UpstreamLoad): Record<string, string> {
  return { upstream, route: route ?? "*" };
}
