// The process that serves requests for one side of a benchmark: `server.js express/sluice`. It sends its port to
// its parent process, then its processor time whenever the parent asks, and serves until the parent exits. Every
// side answers with the same small body, and no limit is ever reached. Every side imports all limiters, so that
// what the import alone does to a process (exchange/node/tick-shape.ts) is the same for all.

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fastifyRateLimit from "@fastify/rate-limit";
import express from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import { fastify } from "fastify";
import { tokenBucket } from "sluice";
import { rateLimit as sluiceExpress } from "sluice/express";
import { rateLimit as sluiceFastify } from "sluice/fastify";
import { rateLimit as sluiceNode } from "sluice/node";

const BODY = JSON.stringify({ hello: "world" });
const WINDOW_MS = 60_000;
const LIMIT = 1_000_000_000;
const HOST = "127.0.0.1";

const limit = tokenBucket({
  capacity: LIMIT,
  refill: { amount: LIMIT, everyMs: WINDOW_MS },
});

/** Each side: starts a server and returns its port. */
const sides = {
  "node/bare": () => serve(answer),
  "node/sluice": () => {
    const limited = sluiceNode({ limit });
    return serve((request, response) =>
      limited(request, response, () => answer(request, response)),
    );
  },
  "express/bare": () => serve(toExpress()),
  "express/sluice": () => serve(toExpress(sluiceExpress({ limit }))),
  "express/express-rate-limit": () =>
    serve(
      toExpress(expressRateLimit({ windowMs: WINDOW_MS, limit: LIMIT, standardHeaders: true })),
    ),
  "fastify/bare": () => serveFastify(),
  "fastify/sluice": () => serveFastify((app) => app.register(sluiceFastify, { limit })),
  // The three lines that @fastify/rate-limit sends, and none of the draft's.
  "fastify/sluice, X-RateLimit only": () =>
    serveFastify((app) => app.register(sluiceFastify, { limit, headers: "none" })),
  "fastify/@fastify/rate-limit": () =>
    serveFastify((app) => app.register(fastifyRateLimit, { max: LIMIT, timeWindow: WINDOW_MS })),
} as const satisfies Record<string, () => Promise<number>>;

/** The name of a side. */
export type Side = keyof typeof sides;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1e6);
  });
  process.send(await sides[process.argv[2] as Side]());
}

function answer(...[, response]: Parameters<RequestListener>): void {
  response.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(BODY),
  });
  response.end(BODY);
}

function toExpress(limiter?: express.RequestHandler): RequestListener {
  const app = express();
  if (limiter !== undefined) app.use(limiter);
  app.get("/", (_request, response) => {
    response.type("json").send(BODY);
  });
  return app;
}

function serve(listener: RequestListener): Promise<number> {
  return listen(createServer(listener));
}

async function serveFastify(
  register: (app: ReturnType<typeof fastify>) => PromiseLike<unknown> = async () => {},
): Promise<number> {
  const app = fastify();
  await register(app);
  app.get("/", (_request, reply) => {
    reply.type("application/json").send(BODY);
  });
  await app.listen({ port: 0, host: HOST });
  return (app.server.address() as AddressInfo).port;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, HOST, () => resolve((server.address() as AddressInfo).port));
  });
}
