// The service of several processes, as its primary sees it: the store, the rules, the decision API and the
// admin port are here, and workers with the gateway and Envoy's door are started, told and asked.

import { readFileSync } from "node:fs";
import type { AdminControl } from "../admin/control.js";
import type { CancelTimer } from "../clock.js";
import type { Config } from "../config/config.js";
import type { OpenDoor } from "../core.js";
import { ConfigInForce } from "../service/config-in-force.js";
import { createCore, type OwnedCore, policiesOf } from "../service/create-core.js";
import { closeDoors, type DoorOpener, drainAll, openDoors } from "../service/doors.js";
import { oneAtATime } from "../service/one-at-a-time.js";
import { adminOpenerOf, singleOpenersOf } from "../service/openers.js";
import { type Readiness, readinessOf } from "../service/readiness.js";
import { RulesInForce, type WrittenRules } from "../service/rules-in-force.js";
import type { Service, ServiceOptions } from "../service/service.js";
import { newSecret } from "../telemetry/chance.js";
import { createTelemetry } from "../telemetry/create.js";
import { type MetricValues, mergeMetrics, mergeTop } from "../telemetry/merge.js";
import type { TopOptions, TopReport } from "../telemetry/top-report.js";
import { END_MS_MAX, type ToldDoor, type WorkerStart } from "./control.js";
import { Crew } from "./crew.js";
import { type Fork, forkWorker } from "./fork.js";
import { serveStore } from "./serve-store.js";
import type { Death } from "./slot.js";

/**
 * Starts a service of several processes: the doors of all workers are open when it resolves, or none.
 *
 * @throws What is wrong with the rules, an address that can't be listened at, or what kept a worker from
 * starting.
 */
export async function startPrimary(
  config: Config,
  options: ServiceOptions & { readonly fork?: Fork } = {},
): Promise<Service> {
  const keySecret = options.keySecret ?? newSecret().toString("base64");
  const telemetry = options.telemetry ?? createTelemetry(config.telemetry, { keySecret });
  const core = createCore(config, { ...options, telemetry });
  let service: PrimaryService | undefined;
  try {
    service = new PrimaryService(core, { ...options, keySecret });
    await service.open();
    return service;
  } catch (error) {
    await (service ?? core).close();
    throw error;
  }
}

interface PrimaryOptions extends ServiceOptions {
  readonly fork?: Fork;
  readonly keySecret: string;
}

class PrimaryService implements Service {
  readonly core: OwnedCore;
  readonly #options: PrimaryOptions;
  /** The configuration as it was written when this started; undefined if it came from code. */
  readonly #file: WorkerStart["config"];
  readonly #config: ConfigInForce;
  readonly #readiness: Readiness;
  readonly #rules: RulesInForce;
  readonly #crew: Crew;
  /** Of this process. */
  #doors: readonly OpenDoor[] = [];
  #spreading: Promise<void> = Promise.resolve();
  readonly #reloadOnce = oneAtATime(() => this.#reload());
  #stopWatching: CancelTimer = () => {};
  #draining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(core: OwnedCore, options: PrimaryOptions) {
    const { config, clock, telemetry } = core;
    this.core = core;
    this.#options = options;
    this.#file = config.file === undefined ? undefined : readConfig(config.file);
    this.#config = new ConfigInForce(config, options.loadConfig, telemetry);
    this.#readiness = readinessOf(core);
    this.#rules = new RulesInForce({
      source: config.rules,
      policies: policiesOf(core),
      telemetry,
      clock,
      onReplaced: (written) => this.#spread(written),
      onMended: () => this.#retry(),
    });
    this.#crew = new Crew(config.workers, {
      fork: options.fork ?? (() => forkWorker(this.#file !== undefined)),
      serve: ({ channel }) => serveStore(core.store, channel, { clock }),
      toStart: () => this.#toStart(),
      nowMs: () => clock.now(),
      onDied: (death) => this.#mourn(death),
      onStarted: (pid) => telemetry.log.info({ pid }, "worker started"),
    });
  }

  get doors(): readonly OpenDoor[] {
    return [...this.#crew.doors.map(toDistantDoor), ...this.#doors];
  }

  isReady(): boolean {
    return this.unreadyReasons.length === 0;
  }

  get unreadyReasons(): readonly string[] {
    const isStaffed = this.#crew.openCount > 0;
    return [...this.#readiness.reasons, ...(isStaffed ? [] : ["no worker is running"])];
  }

  /** Opens everything, or throws. */
  async open(): Promise<void> {
    await this.#crew.start();
    const openers: readonly DoorOpener[] = this.#options.openers ?? [
      ...singleOpenersOf(this.core.config),
      adminOpenerOf(this.#toControl()),
    ];
    this.#doors = await openDoors(this.core, openers);
    this.#readiness.open();
    // What is wrong with it is told where it is seen.
    this.#stopWatching = this.#config.watch(() => void this.reload().catch(() => {}));
  }

  reload(): Promise<void> {
    return this.#reloadOnce();
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #toStart(): WorkerStart {
    return {
      rules: this.#rules.written,
      switches: this.core.policy.switchedOff,
      keySecret: this.#options.keySecret,
      logLevel: this.#config.latest.telemetry.logLevel,
      config: this.#file,
    };
  }

  /** Workers get rules that have shown here that they can be used, one set after the other. */
  #spread(written: WrittenRules): void {
    const { telemetry } = this.core;
    this.#spreading = this.#spreading
      .then(() => this.#crew.tell("rules", written))
      // Rules that are switched off may have come back.
      .then(() => this.#crew.tell("switches", this.core.policy.switchedOff))
      .catch((error) => telemetry.reloaded("rules", error));
  }

  #mourn({ pid, why, nextMs }: Death): void {
    const { log } = this.core.telemetry;
    this.core.telemetry.workerEnded();
    if (nextMs !== undefined) {
      log.error({ pid, why, nextMs }, "a worker died; another one starts");
      return;
    }
    log.fatal({ pid, why }, "a worker died too often");
    this.#options.onFailed?.(new Error(`a worker died too often: ${why}`));
  }

  #toControl(): AdminControl {
    return {
      isReady: () => ({ ready: this.isReady(), reasons: this.unreadyReasons }),
      reload: () => this.reload(),
      metrics: () => this.#metrics(),
      switchRule: (ruleId, isOn) => this.#switchRule(ruleId, isOn),
      top: (options) => this.#top(options),
    };
  }

  async #metrics(): Promise<string> {
    const { answers } = await this.#crew.ask("metrics", undefined);
    const own = await this.core.telemetry.metricValues();
    return mergeMetrics([own, ...(answers as MetricValues[])]);
  }

  async #top(options: TopOptions): Promise<TopReport> {
    const { answers } = await this.#crew.ask("top", options);
    const reports = [this.core.telemetry.top(options), ...(answers as TopReport[])];
    return mergeTop(reports, this.core.config.telemetry.topKeysMax);
  }

  async #switchRule(ruleId: string | undefined, isOn: boolean): Promise<void> {
    for (const policy of policiesOf(this.core)) {
      if (isOn) policy.enable(ruleId);
      else policy.disable(ruleId);
    }
    await this.#crew.tell("switches", this.core.policy.switchedOff);
  }

  async #reload(): Promise<void> {
    const next = await this.#config.read().catch((error) => {
      // A configuration can't be used without its rules, and is mended when they are.
      this.#rules.inspect();
      throw error;
    });
    this.#rules.reload(next.rules);
    await this.#spreading;
    this.#config.accept(next);
    await Promise.all(this.#doors.map((door) => door.reload?.()));
    await this.#crew.tell("reload", { logLevel: next.telemetry.logLevel });
  }

  /** A configuration that failed because of its rules is good when they are. */
  #retry(): void {
    // What is wrong with it is told where it is seen.
    if (this.#config.hasFailed) void this.reload().catch(() => {});
  }

  async #drain(): Promise<void> {
    const { config, telemetry } = this.core;
    this.#readiness.shut();
    this.#crew.letGo();
    await this.#stopListening();
    const isAdmin = ({ name }: OpenDoor) => name === "admin";
    const own = this.#doors.filter((door) => !isAdmin(door));
    const [{ answers, errors }, late] = await Promise.all([
      this.#crew.ask("drain", undefined, config.drainMs + END_MS_MAX),
      drainAll(own, config.drainMs),
    ]);
    await drainAll(this.#doors.filter(isAdmin), 0);
    const all = [...late, ...(answers as string[][]).flat()];
    if (all.length > 0) telemetry.log.warn({ doors: all }, "not drained in time; closing");
    if (errors.length > 0) telemetry.log.error({ errors: errors.map(String) }, "workers lost");
    await this.close();
  }

  /**
   * All workers stop listening before one of them drains and tells its clients to connect anew: while another
   * listens, the socket that all share takes such a connection, and cuts it off when the last one stops. The
   * cluster's own message of a closed listener comes before the answer, so that the socket is closed then.
   */
  async #stopListening(): Promise<void> {
    await this.#crew.ask("stopListening", undefined);
  }

  async #close(): Promise<void> {
    this.#readiness.shut();
    this.#rules.close();
    this.#stopWatching();
    await this.#crew.end(END_MS_MAX);
    await closeDoors(this.#doors);
    await this.core.close();
  }
}

/** A door of the workers. They are drained and closed together, by the service. */
function toDistantDoor(told: ToldDoor): OpenDoor {
  return { ...told, stopListening: () => {}, drain: async () => {}, close: async () => {} };
}

function readConfig(file: string): { file: string; text: string } {
  return { file, text: readFileSync(file, "utf8") };
}
