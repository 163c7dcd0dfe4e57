// The servers of client/overload, each in a process of its own: `overloaded-server.js gateway PORT`. Each sends its port
// to its parent process and serves until that exits. All clients share one limit, a little below what the workers can do.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tokenBucket } from "sluice";
import { rateLimit } from "sluice/node";
import { startService, toConfig } from "sluice-server";

/** Requests a second that the limit admits. */
export const ADMITTED_PER_SECOND = 150;
const LIMIT = { capacity: 20, refillPerSecond: ADMITTED_PER_SECOND };

/** Six workers that take 32 ms for a request make 187 a second, a quarter more than is admitted. */
const WORKERS = 6;
const SERVICE_MS = 32;
/** How much of that it takes to find out who is asking, which the application does before it counts. */
const LOGIN_MS = 8;

const HOST = "127.0.0.1";

const servers = {
  /** Limits by itself, behind its own login: a refusal takes a quarter of the time of a response. */
  application: () => listen(limitByWorkers()),
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

function answerByWorkers(): RequestListener {
  const workers = new Workers();
  return (_request, response) => {
    workers.queue(async () => {
      await pass(SERVICE_MS);
      response.end("ok");
    });
  };
}

function limitByWorkers(): RequestListener {
  const workers = new Workers();
  const limit = rateLimit({ limit: tokenBucket(LIMIT), key: () => "all" });
  return (request, response) => {
    workers.queue(async () => {
      await pass(LOGIN_MS);
      const isAdmitted = await new Promise<boolean>((resolve) => {
        response.once("finish", () => resolve(false));
        void limit(request, response, () => resolve(true));
      });
      if (!isAdmitted) return;
      await pass(SERVICE_MS - LOGIN_MS);
      response.end("ok");
    });
  };
}

/** Does so many tasks at a time. The others wait, however many there are, as in most servers. */
class Workers {
  readonly #waiting: (() => Promise<void>)[] = [];
  #busy = 0;

  queue(task: () => Promise<void>): void {
    this.#waiting.push(task);
    this.#next();
  }

  #next(): void {
    const task = this.#busy < WORKERS ? this.#waiting.shift() : undefined;
    if (task === undefined) return;
    this.#busy++;
    void task().finally(() => {
      this.#busy--;
      this.#next();
    });
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.send(await servers[process.argv[2] as ServerName](Number(process.argv[3])));
}
