// The workers of a service, as their primary sees them: they have the gateway and Envoy's listener, are started,
// told and asked, and count by the primary's store.

import type { AdminControl } from "../admin/service-control.js";
import type { Config } from "../config/config.js";
import type { Listener } from "../core/core.js";
import { type OwnedCore, policiesOf } from "../core/create-core.js";
import type { WrittenRules } from "../core/rules-in-force.js";
import type { InForce, OtherProcesses } from "../service/other-processes.js";
import { type MetricValues, mergeMetrics, mergeTop } from "../telemetry/merge.js";
import type { TopOptions, TopReport } from "../telemetry/top-report.js";
import { END_MS_MAX, type ListenerReport, type WorkerStart } from "./control-messages.js";
import { type Fork, forkWorker } from "./fork.js";
import { serveStore } from "./serve-store.js";
import { Crew } from "./worker-group.js";
import type { Death } from "./worker-slot.js";

/** What workers are started with. */
export interface WorkersOptions {
  /** What the service is like when a worker starts. */
  readonly inForce: () => InForce;
  /** What keys are hashed with in logs and top lists. */
  readonly keySecret: string;
  /** The configuration as it was written; undefined if it came from code. */
  readonly written: WorkerStart["config"];
  /** Default: processes of this program. */
  readonly fork: Fork | undefined;
  /** Told that workers die again and again. Default: nobody is. */
  readonly onFailed: ((error: unknown) => void) | undefined;
}

/** As many workers as the configuration says. */
export class Workers implements OtherProcesses {
  readonly #core: OwnedCore;
  readonly #options: WorkersOptions;
  readonly #crew: Crew;
  #spreading: Promise<void> = Promise.resolve();

  constructor(core: OwnedCore, options: WorkersOptions) {
    this.#core = core;
    this.#options = options;
    const { config, clock, telemetry } = core;
    const { inForce, keySecret, written, fork } = options;
    this.#crew = new Crew(config.workers, {
      fork: fork ?? (() => forkWorker(written !== undefined)),
      serve: ({ channels }) => serveStore(core.store, channels.store, { clock }),
      toStart: () => ({
        ...inForce(),
        switches: core.policy.switchedOff,
        keySecret,
        config: written,
      }),
      nowMs: () => clock.now(),
      onDied: (death) => this.#mourn(death),
      onStarted: (pid) => telemetry.log.info({ pid }, "worker started"),
    });
  }

  get listeners(): readonly Listener[] {
    return this.#crew.listeners.map(toDistantListener);
  }

  get unreadyReasons(): readonly string[] {
    return this.#crew.openCount > 0 ? [] : ["no worker is running"];
  }

  readonly control: Pick<AdminControl, "metrics" | "switchRule" | "top"> = {
    metrics: () => this.#metrics(),
    switchRule: (ruleId, isOn) => this.#switchRule(ruleId, isOn),
    top: (options) => this.#top(options),
  };

  start(): Promise<void> {
    return this.#crew.start();
  }

  /** Workers get rules that have shown here that they can be used, one set after the other. */
  replaceRules(written: WrittenRules): void {
    const { telemetry, policy } = this.#core;
    this.#spreading = this.#spreading
      .then(() => this.#crew.tell("rules", written))
      // Rules that are switched off may have come back.
      .then(() => this.#crew.tell("switches", policy.switchedOff))
      .catch((error) => telemetry.reloaded("rules", error));
  }

  haveRules(): Promise<void> {
    return this.#spreading;
  }

  async reload({ telemetry }: Config): Promise<void> {
    await this.#crew.tell("reload", { logLevel: telemetry.logLevel });
  }

  announceDrain(): void {
    // Not waited for: a worker that hears it late still has its time before it stops listening.
    void this.#crew.ask("announceDrain", undefined);
  }

  /**
   * All workers stop listening before one of them drains and tells its clients to connect anew: while another
   * listens, the socket that all share takes such a connection, and cuts it off when the last one stops. The
   * cluster's own message of a closed listener comes before the answer, so that the socket is closed then.
   */
  async drain(): Promise<readonly string[]> {
    const { config, telemetry } = this.#core;
    this.#crew.letGo();
    await this.#crew.ask("stopListening", undefined);
    const drainMsMax = config.drainMs + END_MS_MAX;
    const { answers, errors } = await this.#crew.ask("drain", undefined, drainMsMax);
    if (errors.length > 0) telemetry.log.error({ errors: errors.map(String) }, "workers lost");
    return (answers as string[][]).flat();
  }

  close(): Promise<void> {
    return this.#crew.end(END_MS_MAX);
  }

  #mourn({ pid, why, nextMs }: Death): void {
    const { telemetry } = this.#core;
    telemetry.workerEnded();
    if (nextMs !== undefined) {
      telemetry.log.error({ pid, why, nextMs }, "a worker died; another one starts");
      return;
    }
    telemetry.log.fatal({ pid, why }, "a worker died too often");
    this.#options.onFailed?.(new Error(`a worker died too often: ${why}`));
  }

  async #metrics(): Promise<string> {
    const { answers } = await this.#crew.ask("metrics", undefined);
    const own = await this.#core.telemetry.metricValues();
    return mergeMetrics([own, ...(answers as MetricValues[])]);
  }

  async #top(options: TopOptions): Promise<TopReport> {
    const { answers } = await this.#crew.ask("top", options);
    const { config, telemetry } = this.#core;
    const reports = [telemetry.top(options), ...(answers as TopReport[])];
    return mergeTop(reports, config.telemetry.topKeysMax);
  }

  async #switchRule(ruleId: string | undefined, isOn: boolean): Promise<void> {
    for (const policy of policiesOf(this.#core)) {
      if (isOn) policy.enable(ruleId);
      else policy.disable(ruleId);
    }
    await this.#crew.tell("switches", this.#core.policy.switchedOff);
  }
}

/** A listener of the workers. They are drained and closed together, by the service. */
function toDistantListener(told: ListenerReport): Listener {
  return { ...told, stopListening: () => {}, drain: async () => {}, close: async () => {} };
}
