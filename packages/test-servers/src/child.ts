// A server process of ours, and its folder. Whatever way the process that started it ends, the
// server ends with it and the folder goes.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "./clock.js";
import { findProgram } from "./find-server.js";

const exitMsMax = 10_000;
const logTailLines = 15;

/** A child process that writes its output to `server.log` in `folder`. */
export class Child {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #exited: Promise<void>;

  constructor(program: string, args: readonly string[], folder: string) {
    const log = openSync(join(folder, logName), "a");
    const [command, ...rest] = [...deathGuard(), program, ...args] as [string, ...string[]];
    this.#process = spawn(command, rest, { cwd: folder, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#folder = folder;
    this.#process.unref();
    killAtExit.add(this.#process);
    this.#exited = new Promise((resolve) => {
      const done = () => {
        killAtExit.delete(this.#process);
        resolve();
      };
      this.#process.once("exit", done).once("error", done);
    });
    watchExit();
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

/** A new temporary folder, removed by `removeFolder` or when this process exits. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  removeAtExit.add(folder);
  watchExit();
  return folder;
}

/** Removes a folder that `makeFolder` made. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  removeAtExit.delete(folder);
}

// Both hold what is running now: as many entries as the tests have servers.
const killAtExit = new Set<ChildProcess>();
const removeAtExit = new Set<string>();
let watching = false;

function watchExit(): void {
  if (watching) return;
  watching = true;
  process.once("exit", endAll);
  // A signal ends a process without its exit event, unless somebody listens for the signal.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
    process.once(name, () => {
      endAll();
      if (process.listenerCount(name) === 0) process.kill(process.pid, name);
    });
}

function endAll(): void {
  for (const child of killAtExit) child.kill("SIGKILL");
  for (const folder of removeAtExit) rmSync(folder, { recursive: true, force: true });
}

// SIGKILL leaves us no last word, so where Linux offers it the child is told by the kernel.
function deathGuard(): string[] {
  const setpriv = process.platform === "linux" ? findProgram("setpriv") : undefined;
  return setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL"];
}
