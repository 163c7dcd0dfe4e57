// A Redis or Valkey process in any of its roles: a configuration file in a folder of its own, a
// port that stays the same, and signals that break it. What each role adds is in files beside.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { StopWaiting, sleep, waitFor } from "../clock.js";
import { makeFolder, removeFolder } from "../folder.js";
import { findFreePort, loopback } from "../free-port.js";
import { Child } from "../programs/child.js";
import type { Reply } from "./resp.js";
import { type Address, RespConnection } from "./resp-connection.js";

/** Lines of a configuration file: a list stands for several lines of the same name. */
export type RedisConfig = Readonly<Record<string, string | number | readonly string[]>>;

/** What it takes to start one process. */
export interface RedisProcessOptions {
  /** Path or name of the server program. */
  readonly binary: string;
  /** Lines of its configuration, besides port and address. */
  readonly config: RedisConfig;
  /** Arguments after the configuration file, such as `--sentinel`. */
  readonly flags?: readonly string[];
}

/** The longest that a server may take until it answers PING, in milliseconds. */
export const readyMsMax: number = 10_000;

const portTriesMax = 5;
const portTakenPauseMs = 200;

/** A running server process. Every method that changes its state waits until that is so. */
export class RedisProcess implements Address {
  readonly host: string = loopback;
  readonly port: number;
  readonly #options: RedisProcessOptions;
  readonly #folder: string;
  readonly #connection: RespConnection;
  #child: Child;
  #paused = false;

  private constructor(options: RedisProcessOptions, port: number) {
    this.port = port;
    this.#options = options;
    this.#folder = makeFolder("test");
    this.#connection = new RespConnection(this);
    writeFileSync(join(this.#folder, configName), toLines(this, this.#folder, options.config));
    this.#child = this.#spawn();
  }

  /** Starts a process on a free port and waits until it answers. */
  static async start(options: RedisProcessOptions): Promise<RedisProcess> {
    for (let tries = 1; ; tries++) {
      const started = new RedisProcess(options, await findFreePort());
      try {
        await started.#waitReady();
        return started;
      } catch (error) {
        await started.stop();
        // Between our look and the server's bind, another process may have taken the port.
        if (tries >= portTriesMax || !isPortTaken(error)) throw error;
      }
    }
  }

  /** The process id; changes when the server restarts. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Whether the process is there and not paused. */
  get isRunning(): boolean {
    return this.#child.isAlive && !this.#paused;
  }

  /** The last lines of the server's log. */
  logTail(): string {
    return this.#child.logTail();
  }

  /** Sends one command and returns its reply; an error reply is thrown as `RedisError`. */
  command(...args: readonly (string | number)[]): Promise<Reply> {
    return this.#connection.command(...args);
  }

  /** The fields of INFO, of one section or of all default ones. */
  async info(section?: string): Promise<Record<string, string>> {
    const text = await this.command("INFO", ...(section === undefined ? [] : [section]));
    return parseFields(String(text));
  }

  /** Freezes the process (SIGSTOP): connections stay open and nothing is answered. */
  pause(): void {
    this.#child.signal("SIGSTOP");
    this.#paused = true;
  }

  /** Lets a paused process go on (SIGCONT). */
  resume(): void {
    this.#child.signal("SIGCONT");
    this.#paused = false;
  }

  /** Kills the process (SIGKILL) and waits for its end. `restart` brings it back. */
  async kill(): Promise<void> {
    await this.#child.end("SIGKILL");
    this.#paused = false;
    this.#connection.close();
  }

  /**
   * Ends the process if it runs (SIGTERM, so that persistence is written if it is on), and starts
   * it again on the same port and with the same folder. Without persistence it is empty then.
   */
  async restart(): Promise<void> {
    if (this.#paused) this.resume();
    await this.#child.end("SIGTERM");
    this.#connection.close();
    for (let tries = 1; ; tries++) {
      this.#child = this.#spawn();
      try {
        return await this.#waitReady();
      } catch (error) {
        await this.kill();
        if (tries >= portTriesMax || !isPortTaken(error)) throw error;
        await sleep(portTakenPauseMs);
      }
    }
  }

  /** Ends the process for good and removes its folder. May be called again. */
  async stop(): Promise<void> {
    await this.kill();
    removeFolder(this.#folder);
  }

  #spawn(): Child {
    const args = [join(this.#folder, configName), ...(this.#options.flags ?? [])];
    return new Child(this.#options.binary, args, this.#folder);
  }

  async #waitReady(): Promise<void> {
    const fail = (why: string) => new Error(`${this.#options.binary} ${why}\n${this.logTail()}`);
    try {
      await waitFor("an answer to PING", readyMsMax, async () => {
        if (!this.#child.isAlive) throw new StopWaiting(fail("ended while it started; its log:"));
        return (await this.command("PING")) === "PONG" || undefined;
      });
    } catch (error) {
      throw this.#child.isAlive ? fail(`is not ready: ${String(error)}; its log:`) : error;
    }
  }
}

const configName = "redis.conf";

/** The lines `name:value` of a string such as the reply to INFO or CLUSTER INFO. */
export function parseFields(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => /^[^#\s][^:]*:/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}

function toLines(address: Address, folder: string, config: RedisConfig): string {
  const all: RedisConfig = {
    bind: address.host,
    port: address.port,
    "protected-mode": "no",
    dir: `"${folder}"`,
    ...config,
  };
  return Object.entries(all)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `${name} ${one === "" ? '""' : one}\n`),
    )
    .join("");
}

function isPortTaken(error: unknown): boolean {
  return /Address already in use|Failed listening on port/i.test(String(error));
}
