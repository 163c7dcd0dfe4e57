// A server process of ours. Whatever way the process that started it ends, the server ends with it.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "../at-exit.js";
import { within } from "../clock.js";
import { findProgram } from "./find-server.js";

const exitMsMax = 10_000;
const logTailLines = 15;

/** What a child may be started with, besides its arguments. */
export interface ChildOptions {
  /** The system user that it runs as; only root may say another. Default: that of this process. */
  readonly user?: string | undefined;
}

/** A child process that writes its output to `server.log` in `folder`. */
export class Child {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #exited: Promise<void>;

  constructor(
    program: string,
    args: readonly string[],
    folder: string,
    { user }: ChildOptions = {},
  ) {
    const log = openSync(join(folder, logName), "a");
    const [command, ...rest] = [...guardOf(user), program, ...args] as [string, ...string[]];
    this.#process = spawn(command, rest, { cwd: folder, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#folder = folder;
    this.#process.unref();
    const cancel = atExit(() => this.#process.kill("SIGKILL"));
    this.#exited = new Promise((resolve) => {
      const done = () => {
        cancel();
        resolve();
      };
      this.#process.once("exit", done).once("error", done);
    });
  }

  /** The process id. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Whether it has not ended yet. A stopped (SIGSTOP) process is alive. */
  get isAlive(): boolean {
    const { pid, exitCode, signalCode } = this.#process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Sends a signal; nothing happens if the process has ended. */
  signal(name: NodeJS.Signals): void {
    if (this.isAlive) this.#process.kill(name);
  }

  /** Ends the process with this signal, with SIGKILL if that takes too long, and waits for it. */
  async end(name: NodeJS.Signals): Promise<void> {
    if (!this.isAlive) return;
    this.#process.ref();
    this.signal(name);
    await within(exitMsMax, `the end of process ${this.pid}`, this.#exited).catch(() => {
      this.signal("SIGKILL");
      return this.#exited;
    });
  }

  /** The last lines that the process wrote. */
  logTail(): string {
    const lines = readFileSync(join(this.#folder, logName), "utf8").trimEnd().split("\n");
    return lines.slice(-logTailLines).join("\n");
  }
}

const logName = "server.log";

// SIGKILL leaves us no last word, so where Linux offers it the kernel ends the child. Both settings are of one
// program, since the kernel forgets the signal when the user changes.
function guardOf(user: string | undefined): string[] {
  const setpriv = process.platform === "linux" ? findProgram("setpriv") : undefined;
  if (setpriv !== undefined) return [setpriv, "--pdeathsig", "KILL", ...asUser(user)];
  if (user === undefined) return [];
  throw new Error("setpriv is not on the PATH; get it with: apt-get install util-linux");
}

function asUser(user: string | undefined): string[] {
  return user === undefined ? [] : ["--reuid", user, "--regid", user, "--clear-groups"];
}
