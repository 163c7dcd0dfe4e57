// Runs a service until its process ends: signals drain, reload and close it. `sluice serve` calls this.

import type { EventEmitter } from "node:events";
import type { Config } from "../config/config.js";
import { sharedOpenersOf } from "../service/open-listeners.js";
import { type Service, type ServiceOptions, startService } from "../service/service.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import type { LogDestination } from "../telemetry/log/pretty-log.js";
import { newSecret } from "../telemetry/random.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { TelemetryOptions } from "../telemetry/telemetry-options.js";
import { isWorkerProcess } from "./fork.js";
import { startPrimary } from "./primary.js";
import { runWorker } from "./worker/worker-process.js";

/** The part of `process` that running a service needs. */
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
 * Runs a service until a signal ends it, and returns the exit code. SIGTERM and SIGINT drain it, a second one
 * closes it immediately; SIGHUP reloads. An uncaught error is logged and exits with 1, because the state that
 * it left is unknown. With several workers, this program may start again as each of them, and calls this
 * function there too.
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

/** Workers are useful only if there is a listener that they can share. */
function needsWorkers(config: Config): boolean {
  return config.workers > 1 && sharedOpenersOf(config).length > 0;
}

/** Applies the signals of a process to its service. Signals that come before the service is started wait. */
class ProcessLife {
  readonly #process: ProcessLike;
  readonly #telemetry: Telemetry;
  readonly #listeners: readonly (readonly [event: string, listener: (value: unknown) => void])[];
  /** Node's listeners that print warnings, removed while warnings go to the log. */
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

  /** Exits the process, because the state that the error left is unknown. */
  crash(error: unknown): void {
    this.#telemetry.log.fatal({ err: error }, "uncaught error");
    this.#process.exit(1);
  }

  /** Removes all listeners. */
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
    this.#telemetry.log.info(
      { signal },
      this.#endSignals === 1 ? "draining" : "closing immediately",
    );
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
    this.#telemetry.log.info({ signal: "SIGHUP" }, "reloading");
    // The problem has been logged and counted where it was found.
    this.#service?.reload().catch(() => {});
  }
}
