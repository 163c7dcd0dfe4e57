// A real PostgreSQL, for tests of what is kept in it. It refuses to run as root, so root starts it as the system
// user that its package makes.

import { execFileSync } from "node:child_process";
import { chownSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "./at-exit.js";
import { StopWaiting, waitFor } from "./clock.js";
import { makeFolder, removeFolder } from "./folder.js";
import { findFreePort, loopback } from "./free-port.js";
import { Child } from "./programs/child.js";
import { ensureProgram } from "./programs/find-program.js";

/** How a server is stopped before it starts again, by the names that PostgreSQL gives to these ways. */
export type StopMode = "fast" | "immediate";

/** A running server. */
export interface PostgresServer {
  readonly port: number;
  /** The process id; changes when the server restarts. */
  readonly pid: number;
  /** Makes a database and returns its URL: a copy of another one that has no connections, or an empty one. */
  createDatabase(copied?: string): string;
  /** Removes databases by their URLs, and ends the connections to them. */
  dropDatabases(urls: readonly string[]): void;
  /**
   * Stops the server and starts it on the same port. `fast` ends sessions and writes everything; `immediate` is a
   * crash: the server recovers from its log when it starts.
   */
  restart(mode: StopMode): Promise<void>;
  /** Stops it until `start`. */
  halt(mode: StopMode): Promise<void>;
  /** Starts it again after `halt`. */
  start(): Promise<void>;
  /** Freezes the server: connections stay open and nothing is answered. */
  pause(): void;
  /** Lets a paused server go on. */
  resume(): void;
  /**
   * Bounds the size of its files, as a full disk would: sessions that are opened from now on can write no file beyond it.
   * The log has files of 16 MiB, and needs them. Undefined: no bound.
   */
  limitFiles(bytesMax: number | undefined): void;
  /** Ends it for good and removes its folder. May be called again. */
  stop(): Promise<void>;
}

const user = "sluice";
const systemUser = "postgres";
const readyMsMax = 20_000;
const signals = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

// A test needs no protection against a power failure, only against the end of the process.
const settings = {
  listen_addresses: loopback,
  unix_socket_directories: "",
  fsync: "off",
  shared_buffers: "16MB",
  max_connections: "100",
  log_checkpoints: "off",
};

/**
 * Starts PostgreSQL on a free loopback port; it is installed if it is missing. The caller ends it with `stop()`; if
 * not, it ends with this process.
 *
 * @param others - Settings of the server beside those that tests have, such as `{ fsync: "on" }`.
 */
export async function startPostgres(
  others: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const find = (program: string) => ensureProgram(program, "postgresql");
  const runAs = process.getuid?.() === 0 ? systemUser : undefined;
  const folder = makeFolder("postgres");
  if (runAs !== undefined) chownSync(folder, idOf("-u"), idOf("-g"));
  const data = join(folder, "data");
  runOnce(
    find("initdb"),
    ["-D", data, "-U", user, "-A", "trust", "--no-sync", "-E", "UTF8"],
    runAs,
  );
  const port = await findFreePort();
  const args = ["-D", data, "-p", String(port), ...toArguments({ ...settings, ...others })];
  const spawn = () => new Child(find("postgres"), args, folder, { user: runAs });
  let child = spawn();
  const at = ["-h", loopback, "-p", String(port), "-U", user];
  const ready = () => waitUntilReady(find("pg_isready"), [...at, "-q"], child);
  await ready();
  const copying = copyingOf(data);
  const cancel = atExit(() => endNow(child.pid));
  let databases = 0;
  const halt = async (mode: StopMode) => {
    child.signal("SIGCONT");
    await child.end(signals[mode]);
  };
  const start = async () => {
    child = spawn();
    await ready();
  };
  return {
    port,
    get pid() {
      return child.pid;
    },
    createDatabase(copied) {
      const name = `test${++databases}`;
      const template = copied === undefined ? [] : ["-T", nameIn(copied)];
      execFileSync(find("createdb"), [...at, ...copying, ...template, name]);
      return `postgres://${user}@${loopback}:${port}/${name}`;
    },
    dropDatabases(urls) {
      const drops = urls.flatMap((url) => ["-c", `DROP DATABASE ${nameIn(url)} WITH (FORCE)`]);
      execFileSync(find("psql"), [
        ...at,
        "-qX",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        "postgres",
        ...drops,
      ]);
    },
    async restart(mode) {
      await halt(mode);
      await start();
    },
    halt,
    start,
    pause: () => signalAll(child.pid, "SIGSTOP"),
    resume: () => signalAll(child.pid, "SIGCONT"),
    limitFiles(bytesMax) {
      const bound = `--fsize=${bytesMax ?? "unlimited"}:unlimited`;
      runOnce("prlimit", ["--pid", String(child.pid), bound], runAs);
    },
    async stop() {
      signalAll(child.pid, "SIGCONT");
      await child.end("SIGQUIT");
      cancel();
      removeFolder(folder);
    },
  };
}

function toArguments(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** From version 15 on the default writes each page of a new database into the log, which takes twice as long. */
function copyingOf(data: string): string[] {
  const version = Number(readFileSync(join(data, "PG_VERSION"), "utf8"));
  return version >= 15 ? ["--strategy=file_copy"] : [];
}

/** A server that is killed leaves a piece of shared memory behind, so it gets a moment to end by itself. */
function endNow(pid: number): void {
  if (pid === 0) return;
  try {
    process.kill(pid, "SIGQUIT");
    // Until nothing is left of it but its exit code, which there is no time to take.
    for (
      let looks = 0;
      looks < 50 && !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
      looks++
    )
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  } catch {
    // It has ended, or the system has no /proc.
  }
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, systemUser], { encoding: "utf8" }));
}

function runOnce(program: string, args: readonly string[], runAs: string | undefined): void {
  const options = { stdio: "pipe", cwd: "/" } as const;
  if (runAs === undefined) execFileSync(program, args, options);
  else {
    const as = ["--reuid", runAs, "--regid", runAs, "--clear-groups"];
    execFileSync("setpriv", [...as, program, ...args], options);
  }
}

async function waitUntilReady(
  program: string,
  args: readonly string[],
  child: Child,
): Promise<void> {
  await waitFor("PostgreSQL to take connections", readyMsMax, () => {
    if (!child.isAlive) {
      throw new StopWaiting(
        new Error(`postgres ended while it started; its log:\n${child.logTail()}`),
      );
    }
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  });
}

/** The server has a process for each connection: a signal to the first alone would leave those running. */
function signalAll(pid: number, signal: "SIGSTOP" | "SIGCONT"): void {
  if (pid === 0) return;
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(each, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    const list = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
    return list
      .split("\n")
      .map(Number)
      .filter((each) => each > 0);
  } catch {
    return []; // ps exits with 1 where there are none.
  }
}
