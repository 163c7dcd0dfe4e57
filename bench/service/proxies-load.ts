// Proxies under load: the one that is measured has a processor to itself, and wrk and the upstream share the
// other. The figure is requests per second of the proxy's processor time: its throughput while it has the
// processor to itself, whatever else the machine does.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensureProgram, makeFolder, removeFolder } from "sluice-test-servers";
import { effort } from "../effort.js";
import { readRequests } from "../http/load.js";
import type { ProxySide } from "./proxies.js";

/** The processor of what is measured. */
export const PROXY_CPU = "0";
/** The processor of the load. */
export const LOAD_CPU = "1";
const CONNECTIONS = 64;
/** In which the system counts processor time. */
const TICKS_PER_SECOND = 100;
const SLICE_SECONDS = 1;
const SLICES_MAX = effort({ full: 20, quick: 1 });
const NGINX_WAIT_MS = 20;
const NGINX_WAITS_MAX = 250;

const HOST = "127.0.0.1";
const script = fileURLToPath(new URL("proxies.js", import.meta.url));
const run = promisify(execFile);

/** A proxy that runs, or its upstream. */
export interface RunningProxy {
  readonly name: string;
  readonly port: number;
  /** Seconds of processor time that it has used. */
  cpuSeconds(): number;
  /** Memory that it has now, in bytes. */
  residentBytes(): number;
  stop(): void;
}

/** A contender: nginx, or a side of our own process. */
export type ProxyName = ProxySide | "nginx";

/** Proxies and their upstream. */
export interface RunningProxies {
  readonly proxies: readonly RunningProxy[];
  readonly upstream: RunningProxy;
  stop(): void;
}

/** Starts an upstream, and proxies in front of it. */
export async function startProxies(names: readonly ProxyName[]): Promise<RunningProxies> {
  if (cpus().length < 2) throw new Error("needs two processors: one serves, the other one asks");
  const upstream = await startNode("upstream", LOAD_CPU, 0);
  const started = [upstream];
  const stop = () => {
    for (const proxy of started) proxy.stop();
  };
  try {
    for (const name of names) {
      started.push(
        name === "nginx"
          ? await startNginx(upstream.port)
          : await startNode(name, PROXY_CPU, upstream.port),
      );
    }
  } catch (error) {
    stop();
    throw error;
  }
  return { proxies: started.slice(1), upstream, stop };
}

/** What a proxy is asked, and how it answers. */
export interface Asking {
  /** Every answer has to be a refusal, instead of none. */
  readonly isRefused?: boolean;
  /** A script of wrk that makes the requests; default: `GET /`. */
  readonly script?: string;
}

/**
 * Requests for each second of a proxy's processor time, asked until it has used so much of it: on a machine
 * that is busy otherwise, seconds on the clock would be too few to warm up in.
 */
export function askProxy(
  proxy: RunningProxy,
  seconds: number,
  asking: Asking = {},
): Promise<number> {
  return askProxies([proxy], seconds, asking);
}

/** The same for several proxies that are asked together and share the connections. */
export async function askProxies(
  proxies: readonly RunningProxy[],
  seconds: number,
  { isRefused = false, script }: Asking = {},
): Promise<number> {
  const options = script === undefined ? [] : ["-s", script];
  const connections = `${CONNECTIONS / proxies.length}`;
  const cpuSeconds = () => proxies.reduce((sum, proxy) => sum + proxy.cpuSeconds(), 0);
  const ask = async ({ name, port }: RunningProxy) => {
    const output = await askFor(SLICE_SECONDS, port, connections, options);
    return readRequests(isRefused ? withoutRefusals(output, name) : output, name);
  };
  const before = cpuSeconds();
  let requests = 0;
  for (let slices = 0; slices < SLICES_MAX && cpuSeconds() - before < seconds; slices++) {
    for (const answered of await Promise.all(proxies.map(ask))) requests += answered;
  }
  return requests / (cpuSeconds() - before);
}

/** The 99th percentile of response times, in milliseconds, over connections that all open at the same time. */
export async function askForWaits(
  { name, port }: RunningProxy,
  connections: number,
  seconds: number,
): Promise<number> {
  const output = await askFor(seconds, port, `${connections}`, ["--latency"]);
  const line = /^\s*99%\s+([\d.]+)(us|ms|s)\s*$/m.exec(output);
  if (line === null) throw new Error(`${name}: no percentile in the output of wrk: ${output}`);
  const [, figure, unit] = line as unknown as [string, string, keyof typeof MS];
  return Number(figure) * MS[unit];
}

const MS = { us: 0.001, ms: 1, s: 1_000 };

async function askFor(
  seconds: number,
  port: number,
  connections: string,
  options: readonly string[],
): Promise<string> {
  const how = ["-t1", `-c${connections}`, `-d${seconds}s`, ...options];
  const load = ["wrk", ...how, `http://${HOST}:${port}/`];
  const { stdout } = await run("taskset", ["-c", LOAD_CPU, ...load]).catch((error: Error) => {
    throw new Error(`wrk did not run; on Debian: apt-get install wrk (${error.message})`);
  });
  return stdout;
}

/** Where refusals are what is measured, all answers have to be some. */
function withoutRefusals(output: string, name: string): string {
  const line = /^\s*Non-2xx or 3xx responses: (\d+)\s*$/m.exec(output);
  const answered = /^\s*(\d+) requests in /m.exec(output)?.[1];
  if (line === null || Number(line[1]) + 1 < Number(answered)) {
    throw new Error(`${name}: not everything was refused: ${output}`);
  }
  return output.replace(line[0], "");
}

async function startNode(name: ProxySide, cpu: string, upstream: number): Promise<RunningProxy> {
  const args = ["-c", cpu, process.execPath, script, name, `${upstream}`];
  const child = spawn("taskset", args, { stdio: ["ignore", 2, 2, "ipc"] });
  const port = await Promise.race([
    once(child, "message").then(([message]) => message as number),
    failure(child, name),
  ]);
  return toRunning(name, child, port, () => child.disconnect());
}

async function startNginx(upstream: number): Promise<RunningProxy> {
  const binary = ensureProgram("nginx");
  const folder = makeFolder("bench-nginx");
  const port = await findPort();
  writeFileSync(join(folder, "nginx.conf"), toNginx(port, upstream, folder));
  const args = [
    "-c",
    PROXY_CPU,
    binary,
    "-p",
    folder,
    "-c",
    join(folder, "nginx.conf"),
    "-e",
    "stderr",
  ];
  const child = spawn("taskset", args, { stdio: ["ignore", 2, 2] });
  child.once("exit", () => removeFolder(folder));
  const running = toRunning("nginx", child, port, () => child.kill("SIGTERM"));
  await Promise.race([canConnect(port), failure(child, "nginx")]);
  return running;
}

/** One worker, one rule that never refuses, connections kept alive on both sides, no logs. */
function toNginx(port: number, upstream: number, folder: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(" ");
  return `daemon off; master_process off; worker_processes 1; pid ${join(folder, "nginx.pid")};
events { worker_connections 4096; }
http {
  ${temporary} access_log off; keepalive_requests 1000000000;
  limit_req_zone $binary_remote_addr zone=all:10m rate=1000000r/s;
  upstream app { server ${HOST}:${upstream}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen ${HOST}:${port};
    location / {
      limit_req zone=all burst=1000000 nodelay;
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`;
}

function toRunning(
  name: string,
  child: ChildProcess,
  port: number,
  stop: () => void,
): RunningProxy {
  // `taskset` becomes the program that it starts, so this is the program's own.
  const pid = child.pid as number;
  return {
    name,
    port,
    cpuSeconds: () => readCpuSeconds(pid),
    residentBytes: () => readResidentBytes(pid),
    stop,
  };
}

/** Resident memory of a process now, in bytes. */
export function readResidentBytes(pid: number): number {
  const [, kilobytes] =
    /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}

/** Seconds of processor time that a process has used. */
export function readCpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Behind the name, which may hold anything: user and system time are the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Rejects when a process ends. */
export async function failure(child: ChildProcess, name: string): Promise<never> {
  const [code] = await Promise.race([once(child, "exit"), once(child, "error")]);
  throw new Error(`${name} did not start: ${code}`);
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function canConnect(port: number): Promise<void> {
  for (let waits = 0; waits < NGINX_WAITS_MAX; waits++) {
    const socket = connect(port, HOST);
    const isThere = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, NGINX_WAIT_MS));
  }
  throw new Error("nginx did not listen");
}
