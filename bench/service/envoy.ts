// What a decision over gRPC costs: calls per second of the server's processor time, over a server of @grpc/grpc-js
// that returns every message as it came. Short rounds take turns, each with new processes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import type { EnvoySide } from "./envoy-server.js";

const SERVER_CPU = "0";
const LOAD_CPU = "1";
const ROUNDS = effort({ full: 9, quick: 1 });
// By calls, not by time: on a busy machine a short while is not enough for the compiler.
const WARM_UP_CALLS = effort({ full: 40_000, quick: 10_000 });
const ROUND_CALLS = effort({ full: 20_000, quick: 10_000 });
const SIDES: readonly EnvoySide[] = ["sluice", "echo", "refusing"];

/** Calls per second of processor time of each side, one figure for each round. */
type Rates = readonly (readonly number[])[];

export const envoy: Bench<Rates> = {
  id: "service/envoy",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 1 },
  parts: ["all"],
  runPart: takeTurns,
  conclude: ([[sluice, echo, refusing]]) => [
    toRatioFinding(
      {
        subject: "ShouldRateLimit, one descriptor, memory",
        reference: "grpc-js echo",
        note: "nothing refused",
      },
      sluice,
      echo,
    ),
    {
      ...toRatioFinding(
        { subject: "refusals", reference: "admissions, both of Sluice" },
        refusing,
        sluice,
      ),
      isJudged: false,
    },
  ],
};

async function takeTurns(): Promise<Rates> {
  if (cpus().length < 2) throw new Error("needs two processors: one serves, the other one asks");
  const rates = SIDES.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const i of inTurn([...SIDES.keys()], round)) {
      rates[i].push(await measure(SIDES[i]));
    }
  }
  return rates;
}

async function measure(side: EnvoySide): Promise<number> {
  const server = start(SERVER_CPU, "envoy-server.js", side);
  try {
    const port = await ask(server);
    const load = start(LOAD_CPU, "envoy-load.js", String(port));
    try {
      await ask(load, WARM_UP_CALLS);
      const before = await ask(server, "cpu");
      const calls = await ask(load, ROUND_CALLS);
      return calls / ((await ask(server, "cpu")) - before);
    } finally {
      load.disconnect();
    }
  } finally {
    server.disconnect();
  }
}

/** Starts one of the processes beside this file. */
export function start(cpu: string, script: string, ...more: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return spawn("taskset", ["-c", cpu, process.execPath, path, ...more], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
}

/** Sends something, if anything, and waits for the number that comes back. */
export async function ask(child: ChildProcess, message?: string | number): Promise<number> {
  const answered = new AbortController();
  const answer = once(child, "message");
  const failure = once(child, "exit", { signal: answered.signal }).then(([code]) => {
    throw new Error(`${child.spawnargs.slice(-2).join(" ")} ended with ${code}`);
  });
  if (message !== undefined) child.send(message);
  const [number] = (await Promise.race([answer, failure])) as [number];
  // The child exits later, when nothing awaits this promise any more.
  failure.catch(() => {});
  answered.abort();
  return number;
}
