// The configuration that a service runs with, and how a reload changes it.

import type { CancelTimer } from "../base/clock.js";
import { lookAt, lookAtNow, watchFiles } from "../base/files/watch-files.js";
import type { Config } from "../config/config.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { changesForRestart } from "./config-changes.js";

/** Where a configuration is read again. */
export type ConfigLoader = () => Config | Promise<Config>;

/** A configuration that can be read again. */
export class ConfigInForce {
  readonly #started: Config;
  readonly #load: ConfigLoader | undefined;
  readonly #telemetry: Telemetry;
  /** How its file looked at the start: listeners may take long to open, and watching begins after that. */
  readonly #mark: string;
  #latest: Config;
  #hasFailed = false;

  constructor(config: Config, load: ConfigLoader | undefined, telemetry: Telemetry) {
    this.#started = config;
    this.#latest = config;
    this.#load = load;
    this.#telemetry = telemetry;
    this.#mark = config.file === undefined ? "" : lookAtNow([config.file]);
  }

  /** What was accepted last. */
  get latest(): Config {
    return this.#latest;
  }

  /** Whether it could not be read or used as a whole the last time, and nothing was accepted since. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Reads it again; the same if there is nothing to read. Problems are reported and thrown. */
  async read(): Promise<Config> {
    if (this.#load === undefined) return this.#latest;
    try {
      return await this.#load();
    } catch (error) {
      this.reportFailed(error);
      throw error;
    }
  }

  /** It could not be read, or a part of it could not take effect. */
  reportFailed(error: unknown): void {
    this.#hasFailed = true;
    this.#telemetry.reloaded("config", error);
  }

  /** Calls `onChange` when the file of the configuration has changed or is gone; returns what ends that. */
  watch(onChange: () => void): CancelTimer {
    const { file } = this.#started;
    if (file === undefined || this.#load === undefined) return () => {};
    return watchFiles(() => lookAt([file]), { mark: this.#mark, onChange });
  }

  /** Lets what can change while running take effect, and says in the log what can't. */
  accept(next: Config): void {
    if (next === this.#latest && !this.#hasFailed) return;
    const { log } = this.#telemetry;
    const waiting = changesForRestart(this.#started, next);
    // Before the level changes: it may be one that hides this.
    if (waiting.length > 0) log.warn({ waiting }, "changed values need a restart");
    log.level = next.telemetry.logLevel;
    this.#telemetry.reloaded("config");
    this.#latest = next;
    this.#hasFailed = false;
  }
}
