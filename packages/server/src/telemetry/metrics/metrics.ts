// The registry of a process: each metric with the function that reads its values when it is scraped.

import { collectDefaultMetrics, Registry } from "prom-client";
import type { PeerStats } from "sluice/rules";
import type { DecisionLog } from "../log/decision-log.js";
import type { ControlFigures, ListenerName, StoreName, WebhookFigures } from "../reported.js";
import type { DecisionTally } from "../tally/decision-tally.js";
import type { RuleMeter, RuleMeters } from "../tally/rule-meters.js";
import type { UpstreamLoads } from "../top/upstream-loads.js";
import { ABUSE_READERS } from "./abuse-metrics.js";
import type { ClientFigures } from "./client-figures.js";
import { CLIENT_READERS } from "./client-metrics.js";
import type { Counts, FallbackTime } from "./counts.js";
import { HOME_READERS } from "./home-metrics.js";
import type { Latency } from "./latency.js";
import type { StoreTimes } from "./measured-store.js";
import { METRICS, type MetricKey } from "./metric-definitions.js";
import { addMetric, type MetricLine } from "./sampled-metric.js";
import { sketchReaders } from "./sketch-metrics.js";
import type { WatchedStats } from "./store-stats.js";
import { UPSTREAM_READERS } from "./upstream-metrics.js";

/** Where the values come from. */
export interface MetricSources {
  readonly meters: RuleMeters;
  readonly tally: DecisionTally;
  readonly decisionLog: DecisionLog;
  readonly latencies: ReadonlyMap<ListenerName, Latency>;
  readonly storeTimes: Readonly<Record<StoreName, StoreTimes>>;
  /** Undefined without regions. */
  readonly regionShare: number | undefined;
  readonly stats: WatchedStats;
  readonly fallbacks: Readonly<Record<StoreName, FallbackTime>>;
  /** By listener and status. */
  readonly refusals: Counts;
  readonly reloads: Counts;
  readonly reloadFailed: Counts;
  readonly upstreams: Counts;
  readonly jwksFetchFailures: () => number;
  readonly clients: ClientFigures;
  /** Undefined without a control plane. */
  readonly control: () => ControlFigures | undefined;
  /** Undefined without webhooks. */
  readonly webhooks: () => WebhookFigures | undefined;
  readonly loads: UpstreamLoads;
  readonly workersEnded: () => number;
}

type Reader = (sources: MetricSources) => Iterable<MetricLine>;

/** Gauges of prom-client that are named as counters; those without `_total` say the same by type. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * A registry with all metrics of a service.
 *
 * @param hasProcessMetrics - Whether those of the process and of Node are in it: memory, CPU, event loop.
 */
export function createRegistry(
  sources: MetricSources,
  options: { readonly region: string; readonly hasProcessMetrics: boolean },
): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ region: options.region });
  for (const [key, read] of Object.entries(READERS)) {
    addMetric(registry, METRICS[key as MetricKey], () => read(sources));
  }
  if (options.hasProcessMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  return registry;
}

const READERS: Readonly<Record<MetricKey, Reader>> = {
  allowed: byRule(({ allowed, delayed }) => ({ allowed, delayed })),
  blocked: byRule(({ blocked }) => blocked),
  shadow: byRule((meter) =>
    meter.shadowAllowed + meter.shadowBlocked === 0
      ? {}
      : { allowed: meter.shadowAllowed, blocked: meter.shadowBlocked },
  ),
  *settledUnits({ meters }) {
    for (const { rule, settledUnits } of meters) {
      if (settledUnits === undefined) continue;
      yield of(settledUnits.reserved, { rule, outcome: "reserved" });
      yield of(settledUnits.settled, { rule, outcome: "settled" });
    }
  },
  *settleEstimates({ meters }) {
    for (const { rule, settledUnits } of meters) {
      for (const [reason, value] of Object.entries(settledUnits?.estimates ?? {})) {
        yield of(value, { rule, reason });
      }
    }
  },
  ...ABUSE_READERS,
  *decisions({ tally }) {
    for (const [listener, counts] of tally.listeners) {
      for (const [outcome, value] of Object.entries(counts)) yield of(value, { listener, outcome });
    }
  },
  *sources({ tally }) {
    for (const [source, value] of Object.entries(tally.sources)) yield of(value, { source });
  },
  *decisionSeconds({ latencies }) {
    const { name } = METRICS.decisionSeconds;
    for (const [listener, latency] of latencies) yield* latency.samples(name, { listener });
  },
  *http429({ refusals }) {
    for (const { labels, value } of refusals.samples()) {
      if (labels.status === "429") yield of(value, { listener: labels.listener });
    }
  },
  refusals: ({ refusals }) => refusals.samples(),
  redisSeconds: ({ storeTimes }) => secondsOf(storeTimes.store, METRICS.redisSeconds),
  redisErrors: ({ storeTimes }) => errorsOf(storeTimes.store),
  fallbackEntered: ({ fallbacks }) => [of(fallbacks.store.entered)],
  fallbackActive: ({ fallbacks }) => [of(fallbacks.store.isActive ? 1 : 0)],
  fallbackSeconds: ({ fallbacks }) => [of(fallbacks.store.seconds)],
  homeSeconds: ({ storeTimes }) => secondsOf(storeTimes.home, METRICS.homeSeconds),
  homeErrors: ({ storeTimes }) => errorsOf(storeTimes.home),
  homeFallbackActive: ({ fallbacks }) => [of(fallbacks.home.isActive ? 1 : 0)],
  homeFallbackSeconds: ({ fallbacks }) => [of(fallbacks.home.seconds)],
  ...HOME_READERS,
  regionShare: ({ regionShare, stats }) => stats.shareLines(regionShare),
  regionLag: byPeer(({ lagMs }) => ({ value: lagMs / 1_000 })),
  regionExchanges: byPeer(
    ({ exchanges, failures }) => ({ value: exchanges - failures, outcome: "ok" }),
    ({ failures }) => ({ value: failures, outcome: "failed" }),
  ),
  regionUnits: byPeer(({ unitsSent }) => ({ value: unitsSent })),
  regionOvershoot: byPeer(({ overshootUnitsMax }) => ({ value: overshootUnitsMax })),
  regionBudgetHeld: sum("regionLeased", ({ unitsHeld }) => unitsHeld),
  *regionHomeLeases({ stats }) {
    const { regionLeased } = stats.read();
    if (regionLeased.length === 0) return;
    yield of(
      add(regionLeased, ({ leases }) => leases),
      { outcome: "granted" },
    );
    yield of(
      add(regionLeased, ({ leasesRefused }) => leasesRefused),
      { outcome: "refused" },
    );
  },
  *regionDecisions({ stats }) {
    const { regionLeased } = stats.read();
    if (regionLeased.length === 0) return;
    yield of(
      add(regionLeased, ({ regionDecisions }) => regionDecisions),
      { by: "region" },
    );
    yield of(
      add(regionLeased, ({ homeDecisions }) => homeDecisions),
      { by: "home" },
    );
    yield of(
      add(regionLeased, ({ reserveDecisions }) => reserveDecisions),
      { by: "reserve" },
    );
  },
  regionUnitsReturned: sum("regionLeased", ({ unitsReturned }) => unitsReturned),
  regionHomeRefusals: sum("regionLeased", ({ homeRefusals }) => homeRefusals),
  ledgerSeconds: ({ storeTimes }) => secondsOf(storeTimes.ledger, METRICS.ledgerSeconds),
  ledgerErrors: ({ storeTimes }) => errorsOf(storeTimes.ledger),
  ledgerFallbackActive: ({ fallbacks }) => [of(fallbacks.ledger.isActive ? 1 : 0)],
  ledgerFallbackSeconds: ({ fallbacks }) => [of(fallbacks.ledger.seconds)],
  *hotKeysDetected({ meters }) {
    for (const { rule, hotKeysDetected } of meters) {
      if (hotKeysDetected > 0) yield of(hotKeysDetected, { rule });
    }
  },
  *trackedKeys({ tally }) {
    for (const [type, keys] of tally.trackedKeys()) yield of(keys, { key_type: type });
  },
  storeKeys: sum("memory", ({ keys }) => keys),
  storeBytes: sum("memory", ({ bytes }) => bytes),
  storeBlocks: sum("memory", ({ blocks }) => blocks),
  evictions: sum("memory", ({ evictions }) => evictions),
  usageEvicted: sum("memory", ({ usageEvicted }) => usageEvicted),
  arenaRefusals: sum("memory", ({ arenaRefusals }) => arenaRefusals),
  ...sketchReaders,
  unsettled: sum("resilient", ({ unsettled }) => unsettled),
  lateRefunded: sum("resilient", ({ lateRefunded }) => lateRefunded),
  leases: sum("leased", ({ leases }) => leases),
  *leaseUnits({ stats }) {
    const { leased } = stats.read();
    if (leased.length === 0) return;
    yield of(
      add(leased, ({ unitsLeased }) => unitsLeased),
      { outcome: "leased" },
    );
    yield of(
      add(leased, ({ unitsSpent }) => unitsSpent),
      { outcome: "spent" },
    );
    yield of(
      add(leased, ({ unitsReturned }) => unitsReturned),
      { outcome: "returned" },
    );
    yield of(
      add(leased, ({ unitsExpired }) => unitsExpired),
      { outcome: "expired" },
    );
  },
  leaseReturnsFailed: sum("leased", ({ returnsFailed }) => returnsFailed),
  *overshootUnits({ stats }) {
    const { eventual } = stats.read();
    if (eventual.length === 0) return;
    yield of(Math.max(...eventual.map(({ overshootUnitsMax }) => overshootUnitsMax)));
  },
  *syncs({ stats }) {
    const { eventual } = stats.read();
    if (eventual.length === 0) return;
    const failed = add(eventual, ({ failures }) => failures);
    yield of(add(eventual, ({ syncs }) => syncs) - failed, { outcome: "ok" });
    yield of(failed, { outcome: "failed" });
  },
  denyCacheHits: sum("denyCache", ({ hits }) => hits),
  *ruleSet({ stats }) {
    const versions = new Set([...stats.policies].map(({ version }) => version));
    for (const version of versions) yield of(1, { version });
  },
  *rules({ stats }) {
    const [policy] = stats.policies;
    if (policy !== undefined) yield of(policy.rules.rules.length);
  },
  reloads: ({ reloads }) => reloads.samples(),
  reloadFailed: ({ reloadFailed }) => reloadFailed.samples(),
  upstream: ({ upstreams }) => upstreams.samples(),
  ...UPSTREAM_READERS,
  jwksFetchFailures: ({ jwksFetchFailures }) => [of(jwksFetchFailures())],
  controlSequence: ofControl(({ sequence }) => sequence),
  controlAgeSeconds: ofControl(({ ageMs }) => ageMs / 1_000),
  controlFollowers: ofControl(({ followers }) => followers),
  controlFollowersBehind: ofControl(({ followersBehind }) => followersBehind),
  controlChanges: ofControl(({ changes }) => changes),
  *controlProblems({ control }) {
    for (const [what, value] of Object.entries(control()?.problems ?? {}))
      yield of(value, { what });
  },
  *webhookDeliveries({ webhooks }) {
    for (const [outcome, value] of Object.entries(webhooks()?.outcomes ?? {}))
      yield of(value, { outcome });
  },
  webhooksPending: ofWebhooks(({ pending }) => pending),
  webhooksOldestSeconds: ofWebhooks(({ oldestMs }) => oldestMs / 1_000),
  ...CLIENT_READERS,
  workersEnded: ({ workersEnded }) => [of(workersEnded())],
  logLeftOut: ({ decisionLog }) => [of(decisionLog.leftOut)],
};

function of(value: number, labels: MetricLine["labels"] = {}): MetricLine {
  return { labels, value };
}

function* secondsOf(times: StoreTimes, { name }: { readonly name: string }): Iterable<MetricLine> {
  for (const [operation, latency] of times.latencies) yield* latency.samples(name, { operation });
}

function* errorsOf({ latencies, errors }: StoreTimes): Iterable<MetricLine> {
  for (const operation of latencies.keys()) yield of(errors.get(operation) ?? 0, { operation });
}

/** Lines for each other region; nothing if no counts are merged. */
function byPeer(
  ...lines: readonly ((stats: PeerStats) => { readonly value: number; readonly outcome?: string })[]
): Reader {
  return function* ({ stats }) {
    for (const peer of peersOf(stats.read().merged)) {
      for (const toLine of lines) {
        const { value, ...labels } = toLine(peer);
        yield of(value, { peer: peer.region, ...labels });
      }
    }
  };
}

/** Each other region once: what several policies exchanged with it, together. */
function peersOf(merged: Stats["merged"]): Iterable<PeerStats> {
  const byRegion = new Map<string, PeerStats>();
  for (const peer of merged.flatMap(({ peers }) => peers)) {
    const known = byRegion.get(peer.region);
    byRegion.set(
      peer.region,
      known === undefined
        ? peer
        : {
            region: peer.region,
            exchanges: known.exchanges + peer.exchanges,
            failures: known.failures + peer.failures,
            unitsSent: known.unitsSent + peer.unitsSent,
            lagMs: Math.max(known.lagMs, peer.lagMs),
            overshootUnitsMax: Math.max(known.overshootUnitsMax, peer.overshootUnitsMax),
          },
    );
  }
  return byRegion.values();
}

/** A line for each rule and outcome. */
function byRule(toCounts: (meter: RuleMeter) => Readonly<Record<string, number>>): Reader {
  return function* ({ meters }) {
    for (const meter of meters) {
      const { rule, endpoint, keyType } = meter;
      for (const [outcome, value] of Object.entries(toCounts(meter))) {
        yield of(value, { rule, endpoint, key_type: keyType, outcome });
      }
    }
  };
}

/** One number of the control plane; nothing without one, or where it does not apply. */
function ofControl(pick: (figures: ControlFigures) => number | undefined): Reader {
  return ({ control }) => {
    const figures = control();
    const value = figures && pick(figures);
    return value === undefined ? [] : [of(value)];
  };
}

/** One number of webhooks; nothing without them. */
function ofWebhooks(pick: (figures: WebhookFigures) => number): Reader {
  return ({ webhooks }) => {
    const figures = webhooks();
    return figures === undefined ? [] : [of(pick(figures))];
  };
}

type Stats = ReturnType<WatchedStats["read"]>;

/** One number of all stores of a kind together; nothing if there is none. */
function sum<Kind extends keyof Stats>(
  kind: Kind,
  pick: (stats: Stats[Kind][number]) => number,
): Reader {
  return ({ stats }) => {
    const list: readonly Stats[Kind][number][] = stats.read()[kind];
    return list.length === 0 ? [] : [of(add(list, pick))];
  };
}

function add<T>(list: readonly T[], pick: (item: T) => number): number {
  return list.reduce((total, item) => total + pick(item), 0);
}
