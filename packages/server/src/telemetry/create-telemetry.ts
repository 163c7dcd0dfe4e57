// The telemetry of a process: creates its parts, and passes each report to the parts that need it.

import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { FallbackEvent, Store } from "sluice";
import type { Policy, PolicyDecision, PolicyEvent } from "sluice/rules";
import { readMs, wallMs } from "../base/clock.js";
import type { TelemetryConfig } from "../config/config.js";
import { type LiveCounts, toLiveCounts } from "./live/live-counts.js";
import { logAnomaly } from "./log/anomalies.js";
import { createLog } from "./log/create-log.js";
import { DecisionLog } from "./log/decision-log.js";
import { FileProblems } from "./log/file-problems.js";
import { createHashKey, type HashKey } from "./log/key-hash.js";
import { RepeatedProblems } from "./log/repeated-problems.js";
import { logRuleEvent } from "./log/rule-events.js";
import { logUpstream } from "./log/upstream-events.js";
import type { MetricValues } from "./merge.js";
import { ClientFigures } from "./metrics/client-figures.js";
import { Counts, type FallbackTime } from "./metrics/counts.js";
import { Latency } from "./metrics/latency.js";
import { MeasuredStore } from "./metrics/measured-store.js";
import { createRegistry } from "./metrics/metrics.js";
import { fallbackTimesOf, logFallback, storeTimesOf } from "./metrics/store-reports.js";
import { WatchedStats } from "./metrics/store-stats.js";
import { createRandom, newSecret } from "./random.js";
import type {
  ControlFigures,
  CountedVerdict,
  DecidedRequest,
  LimitVerdict,
  ListenerName,
  ReloadedPart,
  StoreName,
  UpstreamOutcome,
  WebhookFigures,
} from "./reported.js";
import { DecisionSamples } from "./samples/decision-samples.js";
import { DecisionTally, HOT_HITS } from "./tally/decision-tally.js";
import { EscalatedKeys } from "./tally/escalated-keys.js";
import { KeySampling, toSeed } from "./tally/key-sampling.js";
import { RuleMeters } from "./tally/rule-meters.js";
import type { LiveSecond } from "./tally/second-history.js";
import type { Telemetry } from "./telemetry.js";
import type { TelemetryOptions } from "./telemetry-options.js";
import { toTopReport } from "./top/top.js";
import type { TopOptions, TopReport } from "./top/top-report.js";
import { UpstreamLoads } from "./top/upstream-loads.js";
import { loadTraceApi, loadTracing, type TraceDecision } from "./tracing.js";

/** The keys watched of each rule for each that is shown: the more, the surer is the order. */
const WATCHED_PER_SHOWN = 4;

/** Logs, metrics, top lists and spans of a process; see {@link Telemetry}. */
export function createTelemetry(
  config: TelemetryConfig,
  options: TelemetryOptions = {},
): Telemetry {
  return new ServiceTelemetry(config, options);
}

class ServiceTelemetry implements Telemetry {
  readonly log: Logger;
  readonly #config: TelemetryConfig;
  readonly #readMs: () => number;
  readonly #wallMs: () => number;
  readonly #hashKey: HashKey;
  readonly #meters: RuleMeters;
  readonly #tally: DecisionTally;
  readonly samples: DecisionSamples;
  readonly escalatedKeys: EscalatedKeys;
  readonly clients: ClientFigures;
  readonly #decisionLog: DecisionLog;
  readonly #stats = new WatchedStats();
  readonly #latencies = new Map<ListenerName, Latency>();
  readonly #storeTimes = storeTimesOf((message, error, fields) =>
    this.problem(message, error, fields),
  );
  readonly #fallbacks: Readonly<Record<StoreName, FallbackTime>>;
  readonly #refusals = new Counts(["listener", "status"]);
  readonly #reloads = new Counts(["what", "outcome"]);
  readonly #reloadFailed = new Counts(["what"]);
  readonly #upstreams = new Counts(["upstream", "outcome"]);
  #jwksFetchFailures = 0;
  #readControl: (() => ControlFigures) | undefined;
  #readWebhooks: (() => WebhookFigures) | undefined;
  readonly loads = new UpstreamLoads();
  #workersEnded = 0;
  readonly #repeatedProblems: RepeatedProblems;
  readonly #fileProblems: FileProblems;
  readonly #registry: Registry;
  #trace: TraceDecision | undefined;

  constructor(config: TelemetryConfig, options: TelemetryOptions) {
    this.#config = config;
    this.#readMs = options.readMs ?? readMs;
    this.#wallMs = options.wallMs ?? wallMs;
    this.clients = new ClientFigures(this.#wallMs);
    const chance = options.chance ?? createRandom();
    this.log = createLog(config, options.destination);
    this.#repeatedProblems = new RepeatedProblems(this.log);
    this.#fileProblems = new FileProblems(this.log);
    const keySecret = options.keySecret ?? newSecret();
    this.#hashKey = createHashKey(keySecret);
    this.escalatedKeys = new EscalatedKeys(this.#readMs, this.#hashKey);
    const keysMax = config.topKeysMax * WATCHED_PER_SHOWN;
    // Separate, so that fixing the sample of the log does not fix which keys are watched.
    this.#meters = new RuleMeters({ keysMax, chance: createRandom(), hotHits: HOT_HITS });
    this.#fallbacks = fallbackTimesOf(this.#readMs);
    const seed = toSeed(keySecret);
    const sampling = new KeySampling({ seed, readMs: this.#readMs });
    this.samples = this.#createSamples(sampling);
    this.#tally = new DecisionTally({
      meters: this.#meters,
      readMs: this.#readMs,
      seed,
      sampling,
      toRule: (ruleId) => this.#stats.findRule(ruleId),
      chance,
      onAnomaly: (change, anomaly) => logAnomaly(this.log, change, anomaly),
    });
    this.#decisionLog = new DecisionLog({
      log: this.log,
      share: config.decisionLogShare,
      chance,
      hashKey: this.#hashKey,
      readMs: this.#readMs,
    });
    this.#registry = this.#createRegistry(options.hasProcessMetrics ?? true);
    void loadTracing(options.loadTraceApi ?? loadTraceApi, wallMs).then((trace) => {
      this.#trace = trace;
    });
  }

  decided(
    listener: ListenerName,
    decision: PolicyDecision,
    request: DecidedRequest,
    ms?: number,
  ): void {
    this.#tally.count(listener, decision);
    this.samples.offer(listener, decision, request);
    this.#decisionLog.log(listener, decision);
    this.#trace?.(listener, decision, ms ?? 0);
    if (ms !== undefined) this.tookMs(listener, ms);
  }

  refusedByOperator(listener: ListenerName, decision: PolicyDecision): void {
    this.#tally.count(listener, decision);
    this.#decisionLog.log(listener, decision);
  }

  decidedByLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void {
    this.#tally.countLimits(listener, isAllowed, limitVerdicts);
    this.samples.offerLimits(listener, isAllowed, limitVerdicts);
    this.#decisionLog.logLimits(listener, isAllowed, limitVerdicts);
  }

  decidedInline(listener: ListenerName, key: string, cost: number, verdict: CountedVerdict): void {
    this.#tally.countInline(listener, key, verdict);
    this.samples.offerInline(listener, key, cost, verdict);
    this.#decisionLog.logInline(listener, key, cost, verdict);
  }

  together<T>(report: () => T): T {
    return this.#tally.atOneInstant(report);
  }

  tookMs(listener: ListenerName, ms: number): void {
    let latency = this.#latencies.get(listener);
    if (latency === undefined) {
      latency = new Latency();
      this.#latencies.set(listener, latency);
    }
    latency.observeMs(ms);
  }

  refused(listener: ListenerName, status: number): void {
    this.#refusals.add(listener, String(status));
  }

  problem(kind: string, error: unknown, fields?: object): void {
    this.#repeatedProblems.report(kind, error, fields);
  }

  policyEvent(event: PolicyEvent): void {
    switch (event.kind) {
      case "replaced":
        this.#replaced(event.removed(), event);
        break;
      case "disabled":
      case "enabled":
      case "denied":
      case "useless-rule":
        logRuleEvent(this.log, event);
        break;
      case "settled":
        this.#meters.ofId(event.rule, (id) => this.#stats.findRule(id)).settle(event);
        break;
      case "settle-failed":
        this.problem("a held charge could not be settled", event.error, { rules: event.rules });
        break;
      case "counted":
        this.#tally.anomalies.seeCounted(event.rule, event.key);
        break;
      case "escalated":
        this.#meters.ofId(event.rule, (id) => this.#stats.findRule(id)).escalate(event.level);
        this.escalatedKeys.add(event);
        this.#decisionLog.logEscalation(event);
        break;
      case "escalate-failed":
        this.problem("refusals could not be counted", event.error, { rules: event.rules });
        break;
    }
  }

  fallbackEvent(event: FallbackEvent, of: StoreName = "store"): void {
    this.#fallbacks[of].see(event);
    logFallback(this.log, event, of);
  }

  reloaded(what: ReloadedPart, error?: unknown): void {
    const isOk = error === undefined;
    this.#reloads.add(what, isOk ? "ok" : "failed");
    this.#reloadFailed.set(isOk ? 0 : 1, what);
    if (isOk && what === "envoy") this.#meters.removeNamed("envoy");
    if (isOk) {
      this.#fileProblems.clear();
      this.log.info({ what }, "reloaded");
    } else this.#fileProblems.report(what, error);
  }

  upstream(name: string, outcome: UpstreamOutcome, backend?: string): void {
    this.#upstreams.add(name, outcome);
    logUpstream(this.log, name, outcome, backend);
  }

  jwksFetchFailed({ message: detail }: Error): void {
    this.#jwksFetchFailures++;
    this.problem("the keys of identity.jwt.jwksUrl can't be fetched", undefined, { detail });
  }

  workerEnded(): void {
    this.#workersEnded++;
  }

  watch(source: Policy | Store): void {
    this.#stats.watch(source);
  }

  watchControl(read: () => ControlFigures): void {
    this.#readControl = read;
  }

  watchWebhooks(read: () => WebhookFigures): void {
    this.#readWebhooks = read;
  }

  measured(store: Store, as: StoreName = "store"): Store {
    this.watch(store);
    if (store.isRemote !== true) return store;
    return new MeasuredStore(store, this.#storeTimes[as], this.#readMs);
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  metricValues(): Promise<MetricValues> {
    return this.#registry.getMetricsAsJSON();
  }

  top(options: TopOptions = {}): TopReport {
    const { topKeysMax: keysMax } = this.#config;
    const parts = { meters: this.#meters, tally: this.#tally, hashKey: this.#hashKey, keysMax };
    return toTopReport({ ...parts, loads: this.loads, readMs: this.#readMs }, options);
  }

  liveCounts(): LiveCounts {
    return toLiveCounts({
      tally: this.#tally,
      meters: this.#meters,
      latencies: this.#latencies.values(),
      fallbacks: this.#fallbacks,
      reloadFailed: this.#reloadFailed,
      control: this.#readControl?.(),
    });
  }

  liveSeconds(): readonly LiveSecond[] {
    return this.#tally.history.read(this.#readMs(), this.#wallMs());
  }

  #replaced(removed: readonly string[], { from, to }: { from: string; to: string }): void {
    this.#meters.remove(removed);
    this.#tally.anomalies.remove(removed);
    this.escalatedKeys.remove(removed);
    if (from !== to) this.log.info({ from, to, removed: removed.length }, "rules changed");
  }

  #createSamples(sampling: KeySampling): DecisionSamples {
    return new DecisionSamples({
      sampling,
      hashKey: this.#hashKey,
      policies: () => this.#stats.policies,
      readMs: this.#readMs,
      wallMs: this.#wallMs,
      onError: (error) => this.problem("a decision could not be sampled", error),
    });
  }

  #createRegistry(hasProcessMetrics: boolean): Registry {
    const sources = {
      meters: this.#meters,
      tally: this.#tally,
      decisionLog: this.#decisionLog,
      latencies: this.#latencies,
      storeTimes: this.#storeTimes,
      regionShare: this.#config.regionShare,
      stats: this.#stats,
      fallbacks: this.#fallbacks,
      refusals: this.#refusals,
      reloads: this.#reloads,
      reloadFailed: this.#reloadFailed,
      upstreams: this.#upstreams,
      clients: this.clients,
      jwksFetchFailures: () => this.#jwksFetchFailures,
      control: () => this.#readControl?.(),
      webhooks: () => this.#readWebhooks?.(),
      loads: this.loads,
      workersEnded: () => this.#workersEnded,
    };
    return createRegistry(sources, { region: this.#config.region, hasProcessMetrics });
  }
}
