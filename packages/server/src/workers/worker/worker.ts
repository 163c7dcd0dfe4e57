// A worker: runs the listeners that can be shared, over the primary's store, until the primary ends it or is
// gone.

import { resilient, systemClock } from "sluice";
import type { SwitchStates } from "sluice/rules";
import type { Config } from "../../config/config.js";
import { openKeyResolver } from "../../control/key-resolver/open-key-resolver.js";
import { EnforcedState } from "../../control/state/enforced-state.js";
import { publishedRules, tenantProfileOf } from "../../control/state/policy-inputs.js";
import type { Listener } from "../../core/core.js";
import { createCore, type OwnedCore, policiesOf } from "../../core/create-core.js";
import { replaceAll, type WrittenRules } from "../../core/rules-in-force.js";
import {
  announceDrain,
  closeListeners,
  drainListeners,
  openListeners,
  stopListening,
} from "../../service/listeners.js";
import { sharedOpenersOf } from "../../service/open-listeners.js";
import { createTelemetry } from "../../telemetry/create-telemetry.js";
import type { SamplesQuery } from "../../telemetry/samples/sampled-decision.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import type { TopOptions } from "../../telemetry/top/top-report.js";
import type { Channels } from "../channel/channel.js";
import {
  ASK_MS_MAX,
  type ListenerAddress,
  START_MS_MAX,
  STORE_MS_MAX,
  type WorkerStart,
} from "../channel/control-messages.js";
import { RequestChannel } from "../channel/request-channel.js";
import { ipcStore } from "../ipc-store/ipc-store.js";
import { WorkerControl } from "./worker-control.js";
import { toLeasedRules, toWorkerRules } from "./worker-rules.js";

/** Makes a worker's configuration from its start message. */
export type WorkerConfig = (start: WorkerStart) => Config;

/** A worker, independent of the process that it runs in. */
export class Worker {
  readonly #toConfig: WorkerConfig;
  readonly #channels: Channels;
  readonly #primary: RequestChannel;
  /** Resolves with the exit code when the worker has ended. */
  readonly ended: Promise<number>;
  #end: (code: number) => void = () => {};
  #core: OwnedCore | undefined;
  /** Undefined if rules come from files. */
  #control: WorkerControl | undefined;
  #enforced: EnforcedState | undefined;
  #listeners: readonly Listener[] = [];

  constructor(channels: Channels, toConfig: WorkerConfig) {
    this.#toConfig = toConfig;
    this.#channels = channels;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    // Without its primary a worker has no counters, and a new primary starts its own workers.
    channels.control.onceGone(() => void this.#close(1));
    this.#primary = new RequestChannel(channels.control, {
      rules: (written: WrittenRules) => this.#replace(written),
      switches: (switches: SwitchStates) => this.#switch(switches),
      control: () => this.#control?.follow(),
      reload: ({ logLevel }: { logLevel: string }) => this.#reload(logLevel),
      metrics: () => this.#core?.telemetry.metricValues(),
      top: (options: TopOptions) => this.#core?.telemetry.top(options),
      escalatedKeys: () => this.#core?.telemetry.escalatedKeys.list(),
      liveCounts: () => this.#core?.telemetry.liveCounts(),
      liveSeconds: () => this.#core?.telemetry.liveSeconds(),
      latestSamples: (query: SamplesQuery) => this.#core?.telemetry.samples.latest(query),
      samplesSince: (sinceMs: number) => this.#core?.telemetry.samples.since(sinceMs),
      announceDrain: () => void announceDrain(this.#listeners),
      stopListening: () => this.#stopListening(),
      drain: () => this.#drain(),
      end: () => this.#close(0),
    });
  }

  /** Opens the listeners and reports it, or reports the reason and ends. */
  async start(): Promise<void> {
    try {
      const start = await this.#primary.ask("hello", undefined, START_MS_MAX);
      await this.#primary.ask("opened", await this.#open(start as WorkerStart), ASK_MS_MAX);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      await this.#primary.ask("failed", why, ASK_MS_MAX).catch(() => {});
      await this.#close(1);
    }
  }

  async #open(start: WorkerStart): Promise<readonly ListenerAddress[]> {
    const config = this.#toConfig(start);
    const { keySecret, logLevel } = start;
    const telemetry = createTelemetry({ ...config.telemetry, logLevel }, { keySecret });
    // Not measured: the primary measures the store, and this would measure messages.
    const store = resilient(ipcStore(this.#channels.store), {
      timeoutMs: STORE_MS_MAX,
      onStoreFailure: config.store.onStoreFailure,
      localShare: 1 / config.workers,
      clock: systemClock,
      onEvent: (event) => telemetry.fallbackEvent(event),
    });
    telemetry.watch(store);
    const rules = toWorkerRules(await this.#startControl(config, telemetry, start.rules));
    const keyResolver = this.#control && openKeyResolver(config.apiKeys, this.#control, telemetry);
    const holders = config.workers;
    const processName = `worker ${process.pid}`;
    const control = this.#control;
    const findTenant = control && ((tenant: string) => tenantProfileOf(control.state, tenant));
    const parts = { telemetry, store, rules, holders, keyResolver, findTenant, processName };
    this.#core = createCore(config, parts);
    this.#enforce(this.#core);
    this.#switch(start.switches);
    this.#listeners = await openListeners(this.#core, sharedOpenersOf(config));
    return this.#listeners.map(({ name, url, httpUrl }) => ({ name, url, httpUrl }));
  }

  /** The rules to start with. */
  async #startControl(
    config: Config,
    telemetry: Telemetry,
    rules: WrittenRules,
  ): Promise<WrittenRules> {
    if (config.control === undefined) return rules;
    const ask = (what: string, value: unknown) => this.#primary.ask(what, value, ASK_MS_MAX);
    this.#control = new WorkerControl(ask, telemetry);
    await this.#control.start();
    return publishedRules(this.#control.state);
  }

  #enforce(core: OwnedCore): void {
    if (this.#control === undefined) return;
    this.#enforced = new EnforcedState({
      source: this.#control,
      policies: policiesOf(core),
      telemetry: core.telemetry,
      adapt: toLeasedRules,
    });
  }

  /** With a control plane, rules and switches come with its state. */
  #replace(written: WrittenRules): void {
    if (this.#control !== undefined) return;
    if (this.#core !== undefined) replaceAll(policiesOf(this.#core), toWorkerRules(written));
  }

  #switch(switches: SwitchStates): void {
    if (this.#core === undefined || this.#control !== undefined) return;
    for (const policy of policiesOf(this.#core)) policy.setSwitches(switches);
  }

  async #reload(logLevel: string): Promise<void> {
    if (this.#core !== undefined) this.#core.telemetry.log.level = logLevel;
    await Promise.all(this.#listeners.map((listener) => listener.reload?.()));
  }

  async #stopListening(): Promise<void> {
    await announceDrain(this.#listeners);
    stopListening(this.#listeners);
  }

  /** Resolves with the names of listeners that had not drained in time. Leases are returned before it does. */
  async #drain(): Promise<readonly string[]> {
    const late = await drainListeners(this.#listeners, this.#core?.config.drainMs ?? 0);
    await closeListeners(this.#listeners);
    await this.#core?.close();
    return late;
  }

  /** Logs an uncaught error, if there is a log. */
  logUncaught(error: unknown): void {
    this.#core?.telemetry.log.fatal({ err: error }, "uncaught error");
  }

  async #close(code: number): Promise<void> {
    this.#enforced?.close();
    await closeListeners(this.#listeners);
    await this.#control?.close();
    await this.#core?.close();
    this.#end(code);
  }
}
