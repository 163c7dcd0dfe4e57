// The top report of this process: rates of rules and their heaviest keys, made when it is asked for.

import type { HashKey } from "../log/key-hash.js";
import { busynessOf } from "../merge.js";
import type { DecisionTally } from "../tally/decision-tally.js";
import type { RuleMeter, RuleMeters } from "../tally/rule-meters.js";
import type { RuleRate, TopAnomaly, TopKey, TopOptions, TopReport } from "./top-report.js";
import { TOP_ANOMALIES_MAX } from "./top-report.js";
import type { UpstreamLoads } from "./upstream-loads.js";

/** What a report is made of. */
export interface TopSources {
  readonly meters: RuleMeters;
  readonly tally: DecisionTally;
  readonly hashKey: HashKey;
  /** Keys in each list. */
  readonly keysMax: number;
  readonly loads: UpstreamLoads;
  /** A monotonic reading, in milliseconds. */
  readonly readMs: () => number;
}

/** How busy this process is. */
export function toTopReport(sources: TopSources, options: TopOptions): TopReport {
  const { tally, keysMax } = sources;
  const upstreams = sources.loads.read();
  const anomalies = toAnomalies(sources, options);
  const period = tally.rates.current;
  const { seconds } = tally.rates;
  const meters = [...sources.meters].filter(
    ({ rule }) => options.rule === undefined || rule === options.rule,
  );
  for (const meter of meters) meter.rollTo(period);
  const toKey: HashKey = options.showsKeys === true ? (key) => key : sources.hashKey;
  const list = (keysOf: (meter: RuleMeter) => Iterable<{ key: string; hits: number }>) =>
    toTopKeys(meters, keysOf, { seconds, keysMax, toKey });
  return {
    seconds,
    rules: meters
      .map((meter) => toRate(meter, seconds))
      .sort((a, b) => busynessOf(b) - busynessOf(a)),
    hottest: list(({ hottest }) => hottest),
    mostRefused: list(({ mostRefused }) => mostRefused),
    ...(upstreams.length === 0 ? {} : { upstreams }),
    ...(anomalies.length === 0 ? {} : { anomalies }),
  };
}

function toAnomalies({ tally, readMs }: TopSources, options: TopOptions): TopAnomaly[] {
  const nowMs = readMs();
  return tally.anomalies.latest
    .filter(({ rule }) => options.rule === undefined || rule === options.rule)
    .slice(0, TOP_ANOMALIES_MAX)
    .map(({ beganMs, endedMs, ...anomaly }) => ({
      ...anomaly,
      beganAgoMs: nowMs - beganMs,
      endedAgoMs: endedMs === null ? null : nowMs - endedMs,
    }));
}

function toRate(meter: RuleMeter, seconds: number): RuleRate {
  const { rule, keyType, endpoint, recent, totals } = meter;
  return {
    rule,
    keyType,
    endpoint,
    allowedPerSecond: recent.allowed / seconds,
    blockedPerSecond: recent.blocked / seconds,
    shadowBlockedPerSecond: recent.shadowBlocked / seconds,
    allowed: totals.allowed,
    blocked: totals.blocked,
  };
}

function toTopKeys(
  meters: readonly RuleMeter[],
  keysOf: (meter: RuleMeter) => Iterable<{ key: string; hits: number }>,
  { seconds, keysMax, toKey }: { seconds: number; keysMax: number; toKey: HashKey },
): TopKey[] {
  return meters
    .flatMap((meter) =>
      [...keysOf(meter)].map(({ key, hits }) => ({ rule: meter.rule, key, hits })),
    )
    .sort((a, b) => b.hits - a.hits)
    .slice(0, keysMax)
    .map(({ rule, key, hits }) => ({ rule, key: toKey(key), perSecond: hits / seconds }));
}
