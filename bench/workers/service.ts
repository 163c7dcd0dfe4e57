// `sluice serve` with one or several processes, all on one processor, started from a file as users do. Its processor
// time is that of all its processes together.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { makeFolder, removeFolder } from "sluice-test-servers";
import {
  failure,
  PROXY_CPU,
  type RunningProxy,
  readCpuSeconds,
  readResidentBytes,
} from "../service/proxies-load.js";

const command = fileURLToPath(new URL("./cli/main.js", import.meta.resolve("sluice-server")));
const LISTEN = "127.0.0.1:0";
const RULES_FILE = "rules.yaml";
const ENVOY_FILE = `
domain: bench
descriptors:
  - key: remote_address
    rate_limit: { unit: year, requests_per_unit: LIMIT }
`;

/** What is served. */
export interface Served {
  readonly workers: number;
  readonly listener: "gateway" | "envoy";
  /** Requests a day of each address at the gateway, a year at Envoy's. */
  readonly limit: number;
  /** Where the gateway leads. */
  readonly upstreamPort?: number;
  /** The content of a rule file, instead of one rule with the limit. */
  readonly rules?: string;
}

/** Starts the service and waits until it listens. */
export async function startServed(served: Served): Promise<RunningProxy> {
  const folder = makeFolder("bench-workers");
  const file = join(folder, "sluice.yaml");
  writeFileSync(join(folder, "envoy.yaml"), ENVOY_FILE.replace("LIMIT", `${served.limit}`));
  writeFileSync(file, JSON.stringify(toFile(served)));
  if (served.rules !== undefined) writeFileSync(join(folder, RULES_FILE), served.rules);
  const args = ["-c", PROXY_CPU, process.execPath, command, "serve", "--config", file];
  const child = spawn("taskset", args, { stdio: ["ignore", "pipe", 2] });
  // It has no channel to this process that would end it too.
  const stop = () => child.kill("SIGTERM");
  process.once("exit", stop);
  child.once("exit", () => {
    process.off("exit", stop);
    removeFolder(folder);
  });
  const name = `${served.listener}, ${served.workers} processes`;
  const port = await Promise.race([portOf(child, served.listener), failure(child, name)]);
  return {
    name,
    port,
    cpuSeconds: () => sumOf(pidsOf(child), readCpuSeconds),
    residentBytes: () => sumOf(pidsOf(child), readResidentBytes),
    stop,
  };
}

function toFile({ workers, listener, limit, upstreamPort, rules }: Served): object {
  const rule = { id: "all", key: "ip", limit: { fixedWindow: { limit, windowMs: 86_400_000 } } };
  const common = {
    server: { workers },
    admin: { listen: LISTEN },
    telemetry: { logLevel: "info", decisionLogShare: 0 },
  };
  if (listener === "envoy") return { ...common, envoy: { listen: LISTEN, files: ["envoy.yaml"] } };
  return {
    ...common,
    gateway: { listen: LISTEN },
    upstreams: { app: { backends: [`http://127.0.0.1:${upstreamPort}`] } },
    routes: [{ path: "/*", upstream: "app" }],
    rules: rules === undefined ? { version: 1, rules: [rule] } : { file: RULES_FILE },
  };
}

/** The port of a listener, from the log. */
function portOf({ stdout }: ChildProcess, listener: string): Promise<number> {
  return new Promise((resolve) => {
    if (stdout === null) return;
    createInterface(stdout).on("line", (line) => {
      const { msg, listener: name, url } = JSON.parse(line) as Record<string, string>;
      if (msg === "listening" && name === listener) resolve(Number(new URL(url ?? "").port));
    });
  });
}

function sumOf(pids: readonly number[], read: (pid: number) => number): number {
  return pids.reduce((sum, pid) => sum + read(pid), 0);
}

/** A process and those that it started. */
function pidsOf({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [pid as number, ...children.split(" ").filter(Boolean).map(Number)];
}
