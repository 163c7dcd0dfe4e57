// Servers under load, each in its own process, with wrk on the same processor; wrk sends a request as soon as it
// has the answer to the one before. The figure is requests per second of the server's processor time: its
// throughput while it has the processor to itself, whatever else the machine does. A wrk on another processor
// would sleep between answers, and waking it takes the server 2 to 6 µs for each answer, depending on what else
// the machine does.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Side } from "./server.js";

/** The processors, each of which can serve a side of its own. */
export const CPUS: readonly string[] = ["0", "1"];
const CONNECTIONS = "32";

const serverPath = fileURLToPath(new URL("server.js", import.meta.url));
const run = promisify(execFile);

/** What a server did. */
export interface Work {
  readonly requests: number;
  /** The processor time that it took. */
  readonly cpuSeconds: number;
}

/** One side of a benchmark, ready to be asked. */
export interface RunningSide {
  readonly side: Side;
  /** Sends requests for this long. Throws if any was refused. */
  ask(seconds: number): Promise<Work>;
  stop(): void;
}

/** Starts the server of a side on a processor. */
export async function startSide(side: Side, cpu: string): Promise<RunningSide> {
  const child = spawn("taskset", ["-c", cpu, process.execPath, serverPath, side], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const port = await Promise.race([
    once(child, "message").then(([message]) => message as number),
    failure(child, side),
  ]);
  return {
    side,
    ask: async (seconds) => {
      const before = await readCpuSeconds(child);
      const requests = await ask(side, cpu, `http://127.0.0.1:${port}/`, seconds);
      return { requests, cpuSeconds: (await readCpuSeconds(child)) - before };
    },
    stop: () => child.disconnect(),
  };
}

async function failure(child: ChildProcess, side: Side): Promise<never> {
  const [code] = await Promise.race([once(child, "exit"), once(child, "error")]);
  throw new Error(`the server of ${side} did not start: ${code}`);
}

async function readCpuSeconds(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [seconds] = await once(child, "message");
  return seconds as number;
}

async function ask(side: Side, cpu: string, url: string, seconds: number): Promise<number> {
  // As a batch job, which does not interrupt the server: that answers all who wait, and then wrk asks again.
  const load = ["chrt", "--batch", "0", "wrk", "-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, url];
  const { stdout } = await run("taskset", ["-c", cpu, ...load]).catch((error: Error) => {
    throw new Error(`wrk did not run; on Debian: apt-get install wrk (${error.message})`);
  });
  return readRequests(stdout, side);
}

/** Reads off the output of wrk how many requests were answered. */
export function readRequests(output: string, side: string): number {
  const trouble = /^\s*(?:Non-2xx or 3xx responses|Socket errors):.*$/m.exec(output);
  if (trouble !== null) throw new Error(`${side}: ${trouble[0].trim()}`);
  const answered = /^\s*(\d+) requests in /m.exec(output);
  if (answered === null) throw new Error(`${side}: no number in the output of wrk: ${output}`);
  return Number(answered[1]);
}
