// The same requests to express-rate-limit and to ours, with the same options: what clients see of the two
// has to be equal. Both follow one clock; their windows are brought to begin at the same instant.

import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import express, { type Request, type RequestHandler } from "express";
import { type Options, rateLimit as original } from "express-rate-limit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { listen, type RunningServer } from "../../test/http/framework-harness.js";
import { ManualClock } from "../testing/manual-clock.js";
import type { ExpressOptions } from "./express/options.js";
import { rateLimit } from "./express.js";
import type { RateLimitInfo } from "./passage.js";

const WINDOW_MS = 60_000;
type Shared = Partial<Options> & ExpressOptions;
/** A path with the client that asks for it, or milliseconds that pass. */
type Step = readonly [path: string, client?: string] | number;

const running: RunningServer[] = [];
const clock = new ManualClock(Date.UTC(2030, 0, 1));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: clock.now() });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function serve(limiter: RequestHandler): Promise<string> {
  const app = express();
  app.set("env", "test");
  app.use(limiter);
  app.get("/", (_request, response) => void response.send("hello"));
  app.get("/fail", (_request, response) => void response.status(500).send("no"));
  app.get("/missing", (_request, response) => void response.status(404).send("no"));
  app.get("/info", (request, response) => {
    const { limit, used, remaining } = infoOf(request);
    response.json({ limit, used, remaining });
  });
  const server = await listen(createServer(app));
  running.push(server);
  return server.url;
}

function infoOf(request: Request): RateLimitInfo {
  return (request as Request & { rateLimit: RateLimitInfo }).rateLimit;
}

/** Moves time to where the windows of a client begin. */
async function toWindowStart(client: string): Promise<void> {
  let resetMs = 0;
  const probe = rateLimit({ limit: 1, windowMs: WINDOW_MS, clock, keyGenerator: () => client });
  const url = await serve((request, response, next) =>
    probe(request, response, () => {
      resetMs = infoOf(request).decision.resetMs;
      next();
    }),
  );
  await fetch(url);
  pass(resetMs);
}

function pass(ms: number): void {
  clock.advance(ms);
  vi.setSystemTime(clock.now());
}

const FIELDS = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "ratelimit",
  "ratelimit-policy",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "retry-after",
];

/** What a client sees of each request. */
async function ask(url: string, path: string, client: string): Promise<unknown> {
  const response = await fetch(url + path, { headers: { "x-client": client } });
  const body = await response.text();
  // What is settled after a response is settled by then.
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  const fields = FIELDS.map((name) => [name, response.headers.get(name)]);
  return { status: response.status, body, ...Object.fromEntries(fields) };
}

const byClient = (request: Request) => String(request.headers["x-client"]);
const refusal = { message: "later" };
const asks = (count: number, path = "/", client = "a"): Step[] =>
  Array.from({ length: count }, () => [path, client] as const);

const table: [name: string, options: Shared, steps: Step[]][] = [
  [
    "limit and windowMs, over the end of a window",
    { limit: 3 },
    [...asks(5), WINDOW_MS - 1, ...asks(1), 1, ...asks(4)],
  ],
  ["max", { max: 2 }, asks(3)],
  ["the default of limit", {}, asks(6)],
  ["one client apart from another", { limit: 1 }, [...asks(2), ...asks(2, "/", "b")]],
  ["skip", { limit: 1, skip: (request) => request.path === "/info" }, [...asks(2), ...asks(2)]],
  ["skipFailedRequests", { limit: 2, skipFailedRequests: true }, [...asks(3, "/fail"), ...asks(3)]],
  [
    "skipSuccessfulRequests",
    { limit: 2, skipSuccessfulRequests: true },
    [...asks(3), ...asks(3, "/fail")],
  ],
  [
    "requestWasSuccessful",
    {
      limit: 2,
      skipSuccessfulRequests: true,
      requestWasSuccessful: (_request, response) => response.statusCode !== 404,
    },
    [...asks(3), ...asks(3, "/fail"), ...asks(3, "/missing")],
  ],
  [
    "a limit that a function chooses",
    { limit: (request) => (byClient(request) === "a" ? 1 : 2) },
    [...asks(2), ...asks(3, "/", "b")],
  ],
  ["a limit that comes later", { limit: async () => 1 }, asks(2)],
  ["an object as message", { limit: 1, message: { error: "later" } }, asks(2)],
  ["a message that comes later", { limit: 1, message: async () => "later" }, asks(2)],
  ["statusCode", { limit: 1, statusCode: 418 }, asks(2)],
  [
    "handler",
    {
      limit: 1,
      handler: (request, response, _next, { statusCode }) => {
        const { limit, remaining } = infoOf(request as Request);
        response.status(statusCode as number).json({ limit, remaining });
      },
    },
    asks(2),
  ],
  ["a handler that goes on", { limit: 1, handler: (_req, _res, next) => next() }, asks(2)],
  ["what handlers find on the request", { limit: 3 }, asks(3, "/info")],
  ["standardHeaders: true", { limit: 1, standardHeaders: true }, asks(2)],
  ["standardHeaders: draft-6", { limit: 1, standardHeaders: "draft-6" }, asks(2)],
  ["standardHeaders: draft-7", { limit: 1, standardHeaders: "draft-7" }, asks(2)],
  ["no legacy headers", { limit: 1, legacyHeaders: false, standardHeaders: "draft-6" }, asks(2)],
  ["retryAfter", { limit: 1, retryAfter: 7 }, asks(2)],
  ["a retryAfter that a function chooses", { limit: 1, retryAfter: async () => 7 }, asks(2)],
];

describe("clients see the same of express-rate-limit and of ours, with", () => {
  it.each(table)("%s", async (_name, given, steps) => {
    await toWindowStart("a");
    const options: Shared = {
      windowMs: WINDOW_MS,
      keyGenerator: byClient,
      standardHeaders: false,
      ...(given.handler === undefined && { ...refusal }),
      ...given,
    };
    const theirs = await serve(original({ ...options, validate: false } as Partial<Options>));
    const ours = await serve(rateLimit({ ...options, clock }));
    for (const [index, step] of steps.entries()) {
      if (typeof step === "number") {
        pass(step);
        continue;
      }
      const [path, client = "a"] = step;
      const seen = (await ask(ours, path, client)) as Record<string, unknown>;
      const wanted = (await ask(theirs, path, client)) as Record<string, unknown>;
      // Each client has windows of its own: only those of "a" begin together.
      const names = client === "a" ? Object.keys(wanted) : ["status", "x-ratelimit-remaining"];
      // Ours is what Retry-After says, added to now: rounded up twice, and never too early.
      const [reset, wantedReset] = [seen, wanted].map((at) => Number(at["x-ratelimit-reset"]));
      if (client === "a") expect([0, 1]).toContain(reset - wantedReset);
      for (const name of names.filter((each) => each !== "x-ratelimit-reset")) {
        expect(`${index}: ${name} ${seen[name]}`).toBe(`${index}: ${name} ${wanted[name]}`);
      }
    }
  });

  it("a limit of 0, apart from the fields that no limit of ours can say", async () => {
    const options: Shared = { limit: 0, message: "never", keyGenerator: byClient };
    const theirs = await serve(original({ ...options, validate: false } as Partial<Options>));
    const ours = await serve(rateLimit({ ...options, clock }));
    for (const url of [theirs, ours]) {
      const response = await fetch(url);
      expect([response.status, await response.text()]).toEqual([429, "never"]);
    }
  });
});
