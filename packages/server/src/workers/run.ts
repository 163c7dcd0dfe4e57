// A service as the life of its process: signals drain, reload and end it. `sluice serve` is this.

import type { EventEmitter } from "node:events";
import type { Config } from "../config/config.js";
import { sharedOpenersOf } from "../service/open-listeners.js";
import { type Service, type ServiceOptions, startService } from "../service/service.js";
import { newSecret } from "../telemetry/chance.js";
import { createTelemetry, type TelemetryOptions } from "../telemetry/create-telemetry.js";
import type { LogDestination } from "../telemetry/pretty-log.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { isWorkerProcess } from "./fork.js";
import { startPrimary } from "./primary.js";
import { runWorker } from "./worker-process.js";

/** What a service needs of the process that it is the life of. */
export interface ProcessLike extends Pick<EventEmitter, "on" | "off" | "listeners"> {
  exit(code: number): void;
}

/** Options of {@link runService}. */
export interface RunOptions extends ServiceOptions {
  /** Called when all listeners are open. */
  readonly onStarted?: (service: Service) => void;
  /** Where log lines go; see `createTelemetry`. */
  readonly destination?: LogDestination | undefined;
  /** Whose signals are listened to. Default: this process. */
  readonly process?: ProcessLike;
}

/** How a service is started. */
export type Starter = (config: Config, options: ServiceOptions) => Promise<Service>;

/**
 * Runs a service until it is told to end, and returns the exit code. SIGTERM and SIGINT drain it, a second
 * one closes it at once; SIGHUP reloads. An error that nobody caught is logged and ends the process with 1:
 * what it left behind can't be told. With several workers this process starts itself once more for each,
 * and they end up here too.
 *
 * @throws What `startService` throws.
 */
export async function runService(
  config: Config,
  options: RunOptions = {},
  start: Starter = needsWorkers(config) ? startPrimary : startService,
): Promise<number> {
  if (isWorkerProcess()) return runWorker(config);
  const keySecret = options.keySecret ?? newSecret().toString("base64");
  const telemetry =
    options.telemetry ?? createTelemetry(config.telemetry, toTelemetryOptions(keySecret, options));
  const life = new ProcessLife(options.process ?? process, telemetry);
  try {
    const onFailed = (error: unknown) => life.crash(error);
    const service = await start(config, { ...options, telemetry, keySecret, onFailed });
    options.onStarted?.(service);
    const code = await life.of(service);
    telemetry.log.info("stopped");
    return code;
  } finally {
    life.close();
  }
}

function toTelemetryOptions(keySecret: string, { destination }: RunOptions): TelemetryOptions {
  return destination === undefined ? { keySecret } : { keySecret, destination };
}

/** Without a listener that they could share, workers would have nothing to do. */
function needsWorkers(config: Config): boolean {
  return config.workers > 1 && sharedOpenersOf(config).length > 0;
}

/** The signals of a process, and what they do to its service. Those that come before it is there wait. */
class ProcessLife {
  readonly #process: ProcessLike;
  readonly #telemetry: Telemetry;
  readonly #listeners: readonly (readonly [event: string, listener: (value: unknown) => void])[];
  /** The listeners that print warnings, removed while the log has them instead. */
  readonly #printers: readonly ((...args: unknown[]) => void)[];
  #service: Service | undefined;
  #ended: ((code: number) => void) | undefined;
  #endSignals = 0;

  constructor(process: ProcessLike, telemetry: Telemetry) {
    this.#process = process;
    this.#telemetry = telemetry;
    const end = (signal: unknown) => this.#end(String(signal));
    const crash = (error: unknown) => this.crash(error);
    this.#listeners = [
      ["SIGTERM", end],
      ["SIGINT", end],
      ["SIGHUP", () => this.#reload()],
      ["warning", (warning) => this.#warn(warning as Error)],
      ["uncaughtException", crash],
      ["unhandledRejection", crash],
    ];
    this.#printers = process.listeners("warning") as (() => void)[];
    for (const printer of this.#printers) process.off("warning", printer);
    for (const [event, listener] of this.#listeners) process.on(event, listener);
  }

  /** Resolves with the exit code when the service has ended. */
  of(service: Service): Promise<number> {
    return new Promise((resolve) => {
      this.#service = service;
      this.#ended = resolve;
      if (this.#endSignals > 0) this.#endService();
    });
  }

  /** Ends the process: what the error left behind can't be told. */
  crash(error: unknown): void {
    this.#telemetry.log.fatal({ err: error }, "an error that nobody caught");
    this.#process.exit(1);
  }

  /** Listens no more. */
  close(): void {
    for (const [event, listener] of this.#listeners) this.#process.off(event, listener);
    for (const printer of this.#printers) this.#process.on("warning", printer);
  }

  /** Logs a warning of Node or of the library, which would otherwise be printed to standard error. */
  #warn({ name, message, code }: Error & { code?: string }): void {
    this.#telemetry.log.warn({ warning: name, code }, message);
  }

  #end(signal: string): void {
    this.#endSignals++;
    this.#telemetry.log.info({ signal }, this.#endSignals === 1 ? "draining" : "closing at once");
    this.#endService();
  }

  #endService(): void {
    const service = this.#service;
    if (service === undefined) return;
    const ending = this.#endSignals === 1 ? service.drain() : service.close();
    ending.then(
      () => this.#ended?.(0),
      (error) => this.crash(error),
    );
  }

  #reload(): void {
    this.#telemetry.log.info({ signal: "SIGHUP" }, "reading the files again");
    // What is wrong was told and counted where it was seen.
    this.#service?.reload().catch(() => {});
  }
}
