// The sides of the decision benchmarks under load: each in its own process on one processor, and wrk on another.
// The figure is requests per second of the server's processor time: its throughput while it has the processor to
// itself, whatever else the machine does.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { readRequests } from "../http/load.js";
import type { DecisionSide } from "./decision-server.js";

const SERVER_CPU = "0";
const LOAD_CPU = "1";
const CONNECTIONS = "32";
const ROUNDS = effort({ full: 9, quick: 1 });
const ROUND_SECONDS = effort({ full: 2, quick: 1 });
const WARM_UP_SECONDS = effort({ full: 2, quick: 1 });
/** Users that ask, in turn. */
const USERS = 10_000;
/** Different bodies, in turn. */
const BODIES = 500;

const serverPath = fileURLToPath(new URL("decision-server.js", import.meta.url));
const run = promisify(execFile);

/** What is asked of a server. */
export interface Load {
  readonly side: DecisionSide;
  /** How many decisions one request asks for; 0 is a plain GET. */
  readonly decisions: number;
  /** Whether they are asked for by a limit and key, or by facts, to be decided by the rules. Default facts. */
  readonly by?: "limit" | "facts";
}

/** Requests per second of processor time of each load, one figure for each round. */
export type Rates = readonly (readonly number[])[];

/** Puts loads to servers of their own, in turns. */
export async function takeTurns(loads: readonly Load[]): Promise<Rates> {
  if (cpus().length < 2) throw new Error("needs two processors: one serves, the other one asks");
  const folder = makeFolder("bench-decision");
  const scripts = loads.map((load, i) => writeScript(load, join(folder, `${i}.lua`)));
  const rates = loads.map((): number[] => []);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const i of inTurn([...loads.keys()], round))
        rates[i].push(await askOnce(loads[i], scripts[i]));
    }
  } finally {
    removeFolder(folder);
  }
  return rates;
}

/** Each round has a process of its own: a server keeps the luck of its first collections. */
async function askOnce({ side }: Load, script: string): Promise<number> {
  const child = spawn("taskset", ["-c", SERVER_CPU, process.execPath, serverPath, side], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  try {
    const port = await Promise.race([answerOf(child), failure(child, side)]);
    const url = `http://127.0.0.1:${port}/`;
    await ask(url, script, WARM_UP_SECONDS, side);
    const before = await readCpuSeconds(child);
    const requests = await ask(url, script, ROUND_SECONDS, side);
    return requests / ((await readCpuSeconds(child)) - before);
  } finally {
    child.disconnect();
  }
}

async function ask(url: string, script: string, seconds: number, side: string): Promise<number> {
  const load = ["wrk", "-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, url];
  const { stdout } = await run("taskset", ["-c", LOAD_CPU, ...load]).catch((error: Error) => {
    throw new Error(`wrk did not run; on Debian: apt-get install wrk (${error.message})`);
  });
  return readRequests(stdout, side);
}

function readCpuSeconds(child: ChildProcess): Promise<number> {
  child.send("cpu");
  return answerOf(child);
}

async function answerOf(child: ChildProcess): Promise<number> {
  const [number] = await once(child, "message");
  return number as number;
}

async function failure(child: ChildProcess, side: string): Promise<never> {
  const [code] = await Promise.race([once(child, "exit"), once(child, "error")]);
  throw new Error(`the server of ${side} did not start: ${code}`);
}

/** Requests are made before the first is sent, so that asking costs both sides the same. */
function writeScript({ decisions, by = "facts" }: Load, path: string): string {
  const requests =
    decisions === 0 ? ["GET"] : Array.from({ length: BODIES }, (_, i) => toBody(i, decisions, by));
  const lines = requests.map((body) =>
    decisions === 0
      ? `wrk.format("GET", "/")`
      : `wrk.format("POST", "/v1/check", {["Content-Type"] = "application/json", Host = "127.0.0.1"}, [[${body}]])`,
  );
  const made = lines.map((line) => `  list[#list + 1] = ${line}`).join("\n");
  const turns = "request = function() n = n % #list + 1; return list[n] end";
  writeFileSync(path, `local list, n = {}, 0\ninit = function()\n${made}\nend\n${turns}\n`);
  return path;
}

function toBody(place: number, decisions: number, by: "limit" | "facts"): string {
  const asked = Array.from({ length: decisions }, (_, i) => {
    const user = `${(place * decisions + i) % USERS}`;
    return by === "limit"
      ? { limit: "1000000/second", key: `user:${user}` }
      : { facts: { method: "GET", path: "/api/items", ip: "203.0.113.10", user } };
  });
  return JSON.stringify(decisions === 1 ? asked[0] : { requests: asked });
}
