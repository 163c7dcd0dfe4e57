// The servers of client/overload, each in a process of its own: `overloaded-server.js gateway PORT`. Each sends its port
// to its parent process and serves until that exits. All clients share one limit, a little below what the upstream can do.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { startService, toConfig } from "sluice-server";

/** Requests a second that the gateway admits. */
export const ADMITTED_PER_SECOND = 150;
const LIMIT = { capacity: 20, refillPerSecond: ADMITTED_PER_SECOND };

/** The upstream: six workers that take 32 ms for a request make 187 a second, a quarter more than is admitted. */
const WORKERS = 6;
const SERVICE_MS = 32;

const HOST = "127.0.0.1";

const servers = {
  /** A server behind the gateway: so many workers, and the others wait in line. */
  upstream: () => listen(answerByWorkers()),
  /** Sluice's gateway in front of it. */
  gateway: async (upstream: number) => {
    const { listeners } = await startService(toService(upstream));
    return Number(new URL(listeners.find(({ name }) => name === "gateway")?.url ?? "").port);
  },
} as const satisfies Record<string, (upstream: number) => Promise<number>>;

/** The name of a server. */
export type ServerName = keyof typeof servers;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.send(await servers[process.argv[2] as ServerName](Number(process.argv[3])));
}

function answerByWorkers(): RequestListener {
  const line: (() => void)[] = [];
  let busy = 0;
  const next = () => {
    const answer = busy < WORKERS ? line.shift() : undefined;
    if (answer === undefined) return;
    busy++;
    setTimeout(() => {
      busy--;
      answer();
      next();
    }, SERVICE_MS);
  };
  return (_request, response) => {
    line.push(() => response.end("ok"));
    next();
  };
}

function toService(upstream: number) {
  return toConfig({
    gateway: { listen: `${HOST}:0` },
    admin: { listen: `${HOST}:0` },
    upstreams: { app: { backends: [`http://${HOST}:${upstream}`] } },
    routes: [{ path: "/*", upstream: "app" }],
    rules: { version: 1, rules: [{ id: "all", key: "global", limit: { tokenBucket: LIMIT } }] },
    telemetry: { logLevel: "silent" },
  });
}

function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  return new Promise((resolve) => {
    server.listen(0, HOST, () => resolve((server.address() as AddressInfo).port));
  });
}
