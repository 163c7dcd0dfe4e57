// The metrics about a home region that has a standby: which region it is, under which epoch, and what was fenced.

import type { HomeStats } from "sluice/rules";
import { counter, gauge } from "./define-metric.js";
import type { MetricDefinition, MetricLine } from "./sampled-metric.js";
import type { WatchedStats } from "./store-stats.js";

/** Their definitions. */
export const HOME_METRICS = {
  homeEpoch: gauge(
    "rate_limiter_home_epoch",
    "The epoch of the home region in force, raised by every promotion; nothing without a standby.",
    [],
    "max",
  ),
  homeOpen: gauge(
    "rate_limiter_home_open",
    "By the name of the home region in force: 1 while its store decides, 0 while it does not.",
    ["home"],
    "max",
  ),
  homeAge: gauge(
    "rate_limiter_home_age_seconds",
    "Seconds since the home region in force began to decide, which is since its promotion; below zero until it does.",
    [],
    "max",
  ),
  homeFenced: counter(
    "rate_limiter_home_fenced_total",
    "Calls that a store refused because it was not home under the epoch of the caller.",
    [],
  ),
} as const satisfies Record<string, MetricDefinition>;

interface Sources {
  readonly stats: WatchedStats;
}

/** What their values are read from. */
export const HOME_READERS: Readonly<
  Record<keyof typeof HOME_METRICS, (sources: Sources) => Iterable<MetricLine>>
> = {
  homeEpoch: read(({ epoch }) => ({ labels: {}, value: epoch })),
  homeOpen: read(({ home, isOpen }) => ({ labels: { home }, value: isOpen ? 1 : 0 })),
  homeAge: read(({ ageMs }) =>
    Number.isFinite(ageMs) ? { labels: {}, value: ageMs / 1_000 } : undefined,
  ),
  homeFenced: read(({ fenceRefusals }) => ({ labels: {}, value: fenceRefusals })),
};

/** One line: the policies of a process share what knows the home region. Nothing without a standby. */
function read(toLine: (stats: HomeStats) => MetricLine | undefined) {
  return ({ stats }: Sources): Iterable<MetricLine> => {
    const home = stats.read().home.at(0);
    const line = home && toLine(home);
    return line === undefined ? [] : [line];
  };
}
