// The metrics about clients beyond their decisions: the files that say what network they belong to, and the challenges
// that they got.

import type { ClientFigures } from "./client-figures.js";
import { counter, gauge } from "./define-metric.js";
import type { MetricDefinition, MetricLine } from "./sampled-metric.js";

/** Their definitions. */
export const CLIENT_METRICS = {
  mmdbAgeSeconds: gauge(
    "rate_limiter_mmdb_age_seconds",
    "Seconds since an MMDB file of identity.mmdb was built by its maker.",
    ["file"],
    "max",
  ),
  mmdbEntries: gauge(
    "rate_limiter_mmdb_entries",
    "Networks in an MMDB file of identity.mmdb.",
    ["file"],
    "max",
  ),
  challenges: counter(
    "rate_limiter_challenges_total",
    "Challenges of rules with onExceed: challenge, by what became of them: issued, passed, or why a pass was not accepted.",
    ["rule", "outcome"],
  ),
} as const satisfies Record<string, MetricDefinition>;

interface Sources {
  readonly clients: ClientFigures;
}

/** What their values are read from. */
export const CLIENT_READERS: Readonly<
  Record<keyof typeof CLIENT_METRICS, (sources: Sources) => Iterable<MetricLine>>
> = {
  *mmdbAgeSeconds({ clients }) {
    for (const { file, ageMs } of clients.mmdb()) yield { labels: { file }, value: ageMs / 1_000 };
  },
  *mmdbEntries({ clients }) {
    for (const { file, entries } of clients.mmdb()) yield { labels: { file }, value: entries };
  },
  challenges: ({ clients }) => clients.challenges.samples(),
};
