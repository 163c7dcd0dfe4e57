// What several processes of one service report, as if they were one: their metrics added up, their top lists and samples
// joined.

import { AggregatorRegistry } from "prom-client";
import type { LiveCounts, RuleCounts } from "./live/live-counts.js";
import { sortNewest } from "./samples/sample-search.js";
import type { SampledDecision, SampleReport } from "./samples/sampled-decision.js";
import { addOutcomes, NO_OUTCOMES } from "./tally/outcome-counts.js";
import type { LiveSecond } from "./tally/second-history.js";
import type { RuleRate, TopAnomaly, TopKey, TopReport } from "./top/top-report.js";
import { TOP_ANOMALIES_MAX } from "./top/top-report.js";
import { joinLoads } from "./top/upstream-loads.js";

/** The metrics of one process, as plain values that can be sent to another. */
export type MetricValues = readonly object[];

/** The metrics of several processes in Prometheus' text format. */
export function mergeMetrics(processes: readonly MetricValues[]): Promise<string> {
  return AggregatorRegistry.aggregate(processes.map((values) => [...values])).metrics();
}

/** The reports of several processes as one, with at most `keysMax` keys in each list. */
export function mergeTop(reports: readonly TopReport[], keysMax: number): TopReport {
  const loads = reports.flatMap(({ upstreams = [] }) => upstreams);
  const anomalies = joinAnomalies(reports.flatMap(({ anomalies: own = [] }) => own));
  return {
    seconds: Math.max(0, ...reports.map(({ seconds }) => seconds)),
    rules: joinRules(reports.flatMap(({ rules }) => rules)),
    hottest: joinKeys(reports.flatMap(({ hottest }) => hottest)).slice(0, keysMax),
    mostRefused: joinKeys(reports.flatMap(({ mostRefused }) => mostRefused)).slice(0, keysMax),
    ...(loads.length === 0 ? {} : { upstreams: joinLoads(loads) }),
    ...(anomalies.length === 0 ? {} : { anomalies }),
  };
}

function joinRules(rates: readonly RuleRate[]): RuleRate[] {
  const byRule = new Map<string, RuleRate>();
  for (const rate of rates) {
    const known = byRule.get(rate.rule);
    byRule.set(rate.rule, known === undefined ? rate : addRates(known, rate));
  }
  return [...byRule.values()].sort((a, b) => busynessOf(b) - busynessOf(a));
}

function addRates(a: RuleRate, b: RuleRate): RuleRate {
  return {
    ...a,
    allowedPerSecond: a.allowedPerSecond + b.allowedPerSecond,
    blockedPerSecond: a.blockedPerSecond + b.blockedPerSecond,
    shadowBlockedPerSecond: a.shadowBlockedPerSecond + b.shadowBlockedPerSecond,
    allowed: a.allowed + b.allowed,
    blocked: a.blocked + b.blocked,
  };
}

/** What rules are listed by. */
export function busynessOf(rate: RuleRate): number {
  return rate.allowedPerSecond + rate.blockedPerSecond + rate.shadowBlockedPerSecond;
}

function joinKeys(keys: readonly TopKey[]): TopKey[] {
  const byName = new Map<string, TopKey>();
  for (const key of keys) {
    const name = `${key.rule} ${key.key}`;
    const perSecond = key.perSecond + (byName.get(name)?.perSecond ?? 0);
    byName.set(name, { ...key, perSecond });
  }
  return [...byName.values()].sort((a, b) => b.perSecond - a.perSecond);
}

/** Each process has baselines of its own: of one figure and rule, the one that lasts and is highest stands for all. */
function joinAnomalies(anomalies: readonly TopAnomaly[]): TopAnomaly[] {
  const byName = new Map<string, TopAnomaly>();
  for (const anomaly of anomalies) {
    const name = JSON.stringify([anomaly.figure, anomaly.rule]);
    const known = byName.get(name);
    if (known === undefined || isGraver(anomaly, known)) byName.set(name, anomaly);
  }
  return [...byName.values()]
    .sort((a, b) => a.beganAgoMs - b.beganAgoMs)
    .slice(0, TOP_ANOMALIES_MAX);
}

function isGraver(a: TopAnomaly, b: TopAnomaly): boolean {
  const isLasting = a.endedAgoMs === null;
  return isLasting === (b.endedAgoMs === null) ? a.value > b.value : isLasting;
}

/** The newest samples of several processes. */
export function mergeLatest(
  lists: readonly (readonly SampledDecision[])[],
  limit: number,
): readonly SampledDecision[] {
  return sortNewest(lists.flat()).slice(0, limit);
}

/** The samples of several processes, whose keys may be spread over them: whole is what is whole in each. */
export function mergeReports(reports: readonly SampleReport[]): SampleReport {
  const hot = reports.flatMap(({ whole }) => whole.hot);
  return {
    fromMs: Math.max(0, ...reports.map(({ fromMs }) => fromMs)),
    whole: {
      share: Math.min(1, ...reports.map(({ whole }) => whole.share)),
      hot: [...new Set(hot)],
    },
    samples: sortNewest(reports.flatMap(({ samples }) => samples)).reverse(),
  };
}

/** The counts of several processes together. */
export function mergeLiveCounts(processes: readonly LiveCounts[]): LiveCounts {
  const byRule = new Map<string, RuleCounts>();
  const latency: number[] = [];
  for (const { rules, latency: own } of processes) {
    for (const each of rules) {
      const known = byRule.get(each.rule);
      byRule.set(each.rule, known === undefined ? each : { ...each, ...addOutcomes(known, each) });
    }
    own.forEach((count, i) => {
      latency[i] = (latency[i] ?? 0) + count;
    });
  }
  const parts = processes.map(({ degraded }) => degraded);
  const ages = parts.flatMap(({ controlAgeMs }) => controlAgeMs ?? []);
  return {
    totals: processes.map(({ totals }) => totals).reduce(addOutcomes, NO_OUTCOMES),
    rules: [...byRule.values()],
    latency,
    degraded: {
      store: parts.some(({ store }) => store),
      ledger: parts.some(({ ledger }) => ledger),
      reloads: [...new Set(parts.flatMap(({ reloads }) => reloads))],
      controlAgeMs: ages.length === 0 ? null : Math.max(...ages),
    },
  };
}

/** The seconds of several processes together, the oldest first. */
export function mergeSeconds(processes: readonly (readonly LiveSecond[])[]): readonly LiveSecond[] {
  const bySecond = new Map<number, LiveSecond>();
  for (const second of processes.flat()) {
    const atMs = Math.round(second.atMs / 1_000) * 1_000;
    bySecond.set(atMs, { atMs, ...addOutcomes(bySecond.get(atMs) ?? NO_OUTCOMES, second) });
  }
  return [...bySecond.values()].sort((a, b) => a.atMs - b.atMs);
}
