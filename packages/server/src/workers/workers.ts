// The workers of a service, as the primary sees them. They run the gateway and Envoy's listener and count in the
// primary's store.

import type { Config } from "../config/config.js";
import type { ControlNode } from "../control/control-node.js";
import { toFeedHandlers } from "../control/feed/ipc-feed.js";
import type { Listener } from "../core/core.js";
import { type OwnedCore, policiesOf } from "../core/create-core.js";
import type { WrittenRules } from "../core/rules-in-force.js";
import type { InForce, OtherProcesses } from "../service/other-processes.js";
import type { LiveCounts } from "../telemetry/live/live-counts.js";
import {
  type MetricValues,
  mergeLatest,
  mergeLiveCounts,
  mergeMetrics,
  mergeReports,
  mergeSeconds,
  mergeTop,
} from "../telemetry/merge.js";
import {
  LATEST_SAMPLES,
  type SampledDecision,
  type SampleReport,
  type SamplesQuery,
} from "../telemetry/samples/sampled-decision.js";
import { type EscalatedKey, mergeEscalated } from "../telemetry/tally/escalated-keys.js";
import type { LiveSecond } from "../telemetry/tally/second-history.js";
import type { TopOptions, TopReport } from "../telemetry/top/top-report.js";
import { END_MS_MAX, type ListenerAddress, type WorkerStart } from "./channel/control-messages.js";
import { type Fork, forkWorker } from "./fork.js";
import { serveStore } from "./ipc-store/serve-store.js";
import type { WorkerExit } from "./supervised-worker.js";
import { WorkerGroup } from "./worker-group.js";

/** Options of {@link Workers}. */
export interface WorkersOptions {
  /** The rules and settings in force when a worker starts. */
  readonly inForce: () => InForce;
  /** What keys are hashed with in logs and top lists. */
  readonly keySecret: string;
  /** The configuration as it was written; undefined if it came from code. */
  readonly written: WorkerStart["config"];
  /** What this process has of the control plane; undefined if rules come from files. */
  readonly control: ControlNode | undefined;
  /** Default: processes of this program. */
  readonly fork: Fork | undefined;
  /** Called when a worker has exited too often. */
  readonly onFailed: ((error: unknown) => void) | undefined;
}

/** How long workers may take to put a change in force: to read long rules takes seconds, more on a busy machine. */
const FOLLOW_MS_MAX = 60_000;

/** The configured number of workers. */
export class Workers implements OtherProcesses {
  readonly #core: OwnedCore;
  readonly #options: WorkersOptions;
  readonly #group: WorkerGroup;
  #spreading: Promise<void> = Promise.resolve();

  constructor(core: OwnedCore, options: WorkersOptions) {
    this.#core = core;
    this.#options = options;
    const { config, clock, telemetry } = core;
    const { inForce, keySecret, written, fork, control } = options;
    this.#group = new WorkerGroup(config.workers, {
      fork: fork ?? (() => forkWorker(written !== undefined)),
      serve: ({ channels }) => serveStore(core.store, channels.store, core),
      handlers: control && { ...toFeedHandlers(control) },
      toStart: () => ({
        ...inForce(),
        switches: core.policy.switches,
        keySecret,
        config: written,
      }),
      nowMs: () => clock.now(),
      onExited: (exit) => this.#reportExit(exit),
      onStarted: (pid) => telemetry.log.info({ pid }, "worker started"),
    });
  }

  get listeners(): readonly Listener[] {
    return this.#group.listeners.map(toWorkerListener);
  }

  get unreadyReasons(): readonly string[] {
    return this.#group.openCount > 0 ? [] : ["no worker is running"];
  }

  readonly control: OtherProcesses["control"] = {
    metrics: () => this.#metrics(),
    switchRule: (ruleId, isOn) => this.#switchRule(ruleId, isOn),
    top: (options) => this.#top(options),
    escalatedKeys: () => this.#escalatedKeys(),
    liveCounts: () => this.#liveCounts(),
    liveSeconds: () => this.#liveSeconds(),
    latestSamples: (query) => this.#latestSamples(query),
    samplesSince: (sinceMs) => this.#samplesSince(sinceMs),
  };

  start(): Promise<void> {
    return this.#group.start();
  }

  /** Sends rules to the workers, one set at a time, after they have been applied here. */
  replaceRules(written: WrittenRules): void {
    const { telemetry, policy } = this.#core;
    this.#spreading = this.#spreading
      .then(() => this.#group.runOnAll("rules", written))
      // The new rules may include rules that an operator has switched.
      .then(() => this.#group.runOnAll("switches", policy.switches))
      .catch((error) => telemetry.reloaded("rules", error));
  }

  followControl(): Promise<void> {
    return this.#group.runOnAll("control", undefined, FOLLOW_MS_MAX);
  }

  haveRules(): Promise<void> {
    return this.#spreading;
  }

  async reload({ telemetry }: Config): Promise<void> {
    await this.#group.runOnAll("reload", { logLevel: telemetry.logLevel });
  }

  announceDrain(): void {
    // Not awaited: a worker that gets it late still has time before it stops listening.
    void this.#group.askAll("announceDrain", undefined);
  }

  /**
   * All workers stop listening before any of them drains and makes its clients reconnect. Otherwise the shared
   * socket would accept such a connection while another worker listens, and reset it when the last one stops.
   * The cluster's message about a closed listener comes before the reply, so the socket is closed by then.
   */
  async drain(): Promise<readonly string[]> {
    const { config, telemetry } = this.#core;
    this.#group.stopRestarting();
    await this.#group.askAll("stopListening", undefined);
    const drainMsMax = config.drainMs + END_MS_MAX;
    const { answers, errors } = await this.#group.askAll("drain", undefined, drainMsMax);
    if (errors.length > 0)
      telemetry.log.error({ errors: errors.map(String) }, "workers did not drain");
    return (answers as string[][]).flat();
  }

  close(): Promise<void> {
    return this.#group.end(END_MS_MAX);
  }

  #reportExit({ pid, why, nextMs }: WorkerExit): void {
    const { telemetry } = this.#core;
    telemetry.workerEnded();
    if (nextMs !== undefined) {
      telemetry.log.error({ pid, why, nextMs }, "worker exited; restarting it");
      return;
    }
    telemetry.log.fatal({ pid, why }, "worker exited too often; giving up");
    this.#options.onFailed?.(new Error(`a worker exited too often: ${why}`));
  }

  async #metrics(): Promise<string> {
    const { answers } = await this.#group.askAll("metrics", undefined);
    const own = await this.#core.telemetry.metricValues();
    return mergeMetrics([own, ...(answers as MetricValues[])]);
  }

  async #top(options: TopOptions): Promise<TopReport> {
    const { answers } = await this.#group.askAll("top", options);
    const { config, telemetry } = this.#core;
    const reports = [telemetry.top(options), ...(answers as TopReport[])];
    return mergeTop(reports, config.telemetry.topKeysMax);
  }

  async #escalatedKeys(): Promise<readonly EscalatedKey[]> {
    const { answers } = await this.#group.askAll("escalatedKeys", undefined);
    const own = this.#core.telemetry.escalatedKeys.list();
    return mergeEscalated([own, ...(answers as EscalatedKey[][])]);
  }

  async #liveCounts(): Promise<LiveCounts> {
    const { answers } = await this.#group.askAll("liveCounts", undefined);
    return mergeLiveCounts([this.#core.telemetry.liveCounts(), ...(answers as LiveCounts[])]);
  }

  async #liveSeconds(): Promise<readonly LiveSecond[]> {
    const { answers } = await this.#group.askAll("liveSeconds", undefined);
    return mergeSeconds([this.#core.telemetry.liveSeconds(), ...(answers as LiveSecond[][])]);
  }

  async #latestSamples(query: SamplesQuery): Promise<readonly SampledDecision[]> {
    const { answers } = await this.#group.askAll("latestSamples", query);
    const own = this.#core.telemetry.samples.latest(query);
    const lists = [own, ...(answers as SampledDecision[][])];
    return mergeLatest(lists, query.limit ?? LATEST_SAMPLES);
  }

  async #samplesSince(sinceMs: number): Promise<SampleReport> {
    const { answers } = await this.#group.askAll("samplesSince", sinceMs);
    const own = this.#core.telemetry.samples.since(sinceMs);
    return mergeReports([own, ...(answers as SampleReport[])]);
  }

  async #switchRule(ruleId: string | undefined, isOn: boolean): Promise<void> {
    for (const policy of policiesOf(this.#core)) {
      if (isOn) policy.enable(ruleId);
      else policy.disable(ruleId);
    }
    await this.#group.runOnAll("switches", this.#core.policy.switches);
  }
}

/** A listener of the workers, which the service drains and closes together. */
function toWorkerListener(address: ListenerAddress): Listener {
  return { ...address, stopListening: () => {}, drain: async () => {}, close: async () => {} };
}
