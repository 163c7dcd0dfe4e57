// Metrics of callers that don't play fair: blocks that became longer, and lists of addresses.

import type { DecisionTally } from "../tally/decision-tally.js";
import type { RuleMeters } from "../tally/rule-meters.js";
import { counter, gauge } from "./define-metric.js";
import type { MetricLine } from "./sampled-metric.js";
import type { WatchedStats } from "./store-stats.js";

/** Names, help and labels. */
export const ABUSE_METRICS = {
  escalations: counter(
    "rate_limiter_escalations_total",
    "Callers that were blocked because a rule with escalate kept refusing them, by level.",
    ["rule", "level"],
  ),
  listEntries: gauge(
    "rate_limiter_list_entries",
    "Addresses and ranges in the lists in force: deny or allow.",
    ["list"],
    "max",
  ),
  anomalies: counter(
    "rate_limiter_anomalies_total",
    "How often a figure departed from its own baseline.",
    ["figure", "rule"],
  ),
  anomaliesActive: gauge(
    "rate_limiter_anomaly_active",
    "1 while a figure departs from its own baseline, else nothing.",
    ["figure", "rule"],
    "max",
  ),
  listRefusals: counter(
    "rate_limiter_list_refusals_total",
    "Requests that were refused because their address is in a denylist.",
  ),
} as const;

/** Where the values come from. */
interface AbuseSources {
  readonly meters: RuleMeters;
  readonly tally: DecisionTally;
  readonly stats: WatchedStats;
}

type Reader = (sources: AbuseSources) => Iterable<MetricLine>;

/** What reads each of them. */
export const ABUSE_READERS = {
  *escalations({ meters }: AbuseSources) {
    for (const { rule, escalations } of meters) {
      for (const [level, value] of escalations.entries()) {
        if (value !== undefined) yield { value, labels: { rule, level: String(level) } };
      }
    }
  },
  *listEntries({ stats }: AbuseSources) {
    const [policy] = stats.policies;
    for (const [list, value] of Object.entries(policy?.lists?.entries ?? {}))
      yield { value, labels: { list } };
  },
  *anomalies({ tally }: AbuseSources) {
    for (const { figure, rule, value } of tally.anomalies.counts.values())
      yield { value, labels: { figure, rule } };
  },
  *anomaliesActive({ tally }: AbuseSources) {
    for (const { figure, rule } of tally.anomalies.active)
      yield { value: 1, labels: { figure, rule: rule ?? "" } };
  },
  listRefusals: ({ tally }: AbuseSources) => [{ value: tally.listRefusals, labels: {} }],
} as const satisfies Record<keyof typeof ABUSE_METRICS, Reader>;
