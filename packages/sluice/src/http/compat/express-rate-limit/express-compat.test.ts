// The same requests to express-rate-limit and to ours, with the same options: what clients see of the two
// has to be equal. Both follow one clock.

import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import express, { type Request, type RequestHandler } from "express";
import { type Options, rateLimit as original } from "express-rate-limit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { listen, type RunningServer } from "../../../../test/http/framework-harness.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { rateLimit } from "../../adapters/express/express.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import type { ExpressOptions } from "./express-options.js";

const WINDOW_MS = 60_000;
type Shared = Omit<Partial<Options>, "headers"> & ExpressOptions;
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
    const info = infoOf(request) as RateLimitInfo | undefined;
    if (info === undefined) return void response.json(null);
    const { limit, used, current, remaining, resetTime } = info;
    response.json({ limit, used, current, remaining, resetTime });
  });
  const server = await listen(createServer(app));
  running.push(server);
  return server.url;
}

function infoOf(request: Request): RateLimitInfo {
  return (request as Request & { rateLimit: RateLimitInfo }).rateLimit;
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
const asks = (count: number, path = "/", client = "a"): Step[] =>
  Array.from({ length: count }, () => [path, client] as const);

/** Whole numbers below a bound, the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** How many random sequences are compared, and which: `SLUICE_SEQUENCES=1000 SLUICE_SEED=7 npx vitest run …`. */
const SEQUENCES = Number(process.env.SLUICE_SEQUENCES ?? 20);
const SEED = Number(process.env.SLUICE_SEED ?? 20_300_101);

/** Options that both take, in any combination. */
function toRandomOptions(random: (below: number) => number): Shared {
  const pick = <T>(...of: T[]): T => of[random(of.length)];
  const limit = 1 + random(4);
  return {
    windowMs: pick(1_000, 1_500, 60_000),
    keyGenerator: pick<(request: Request) => string | Promise<string>>(byClient, async (request) =>
      byClient(request),
    ) as typeof byClient,
    standardHeaders: pick<boolean | "draft-6" | "draft-7">(false, true, "draft-6", "draft-7"),
    legacyHeaders: pick(true, false),
    ...pick<Shared>(
      { limit },
      { max: limit },
      { limit: () => limit },
      { limit: async () => limit },
      {},
    ),
    ...pick<Shared>({}, { statusCode: 503 }),
    ...pick<Shared>({}, {}, { skipFailedRequests: true }, { skipSuccessfulRequests: true }),
    ...pick<Shared>(
      {},
      { requestWasSuccessful: (_request, response) => response.statusCode !== 404 },
      { requestWasSuccessful: async (_request, response) => response.statusCode !== 404 },
    ),
    ...pick<Shared>(
      {},
      { skip: (request: Request) => request.path === "/missing" },
      { skip: async (request: Request) => request.path === "/missing" },
    ),
    ...pick<Shared>(
      {},
      { message: { later: true } },
      { message: async () => "later" },
      { handler: answer },
    ),
    ...pick<Shared>({}, { retryAfter: 9 }, { retryAfter: () => 9 }),
  };
}

const answer: NonNullable<Shared["handler"]> = (
  request,
  response,
  _next,
  { statusCode, message },
) => {
  const { limit, remaining } = infoOf(request as Request);
  response.status(statusCode as number).json({ limit, remaining, message });
};

const table: [name: string, options: Shared, steps: Step[]][] = [
  [
    "limit and windowMs, over the end of a window",
    { limit: 3 },
    [...asks(5), WINDOW_MS - 1, ...asks(1), 1, ...asks(4)],
  ],
  ["max", { max: 2 }, asks(3)],
  ["the default of limit", {}, asks(6)],
  ["limit beside max", { limit: 1, max: 2 }, asks(3)],
  ["a limit that is a string", { limit: "2" as never }, asks(3)],
  ["a function that returns a string", { limit: () => "2" as never }, asks(3)],
  ["numbers as keys", { limit: 1, keyGenerator: (() => 42) as never }, asks(2)],
  [
    "a window from the first request",
    { limit: 2 },
    [...asks(1), 45_678, ...asks(2), 14_321, ...asks(1), 1, ...asks(2)],
  ],
  ["skip, which leaves no info", { limit: 1, skip: () => true }, asks(2, "/info")],
  ["no headers, and so no Retry-After", { limit: 1, legacyHeaders: false }, asks(2)],
  ["headers: false", { limit: 1, headers: false } as Shared, asks(2)],
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
    const options: Shared = {
      windowMs: WINDOW_MS,
      keyGenerator: byClient,
      standardHeaders: false,
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
      expect({ index, ...seen }).toEqual({ index, ...wanted });
    }
  });

  it(`any of ${SEQUENCES} random sequences of 20 requests`, {
    timeout: 100_000 + SEQUENCES * 1_000,
  }, async () => {
    const random = seeded(SEED);
    const pick = <T>(...of: T[]): T => of[random(of.length)];
    for (let round = 0; round < SEQUENCES; round++) {
      const options = toRandomOptions(random);
      const isSkipping = options.skipFailedRequests || options.skipSuccessfulRequests;
      const windowMs = options.windowMs as number;
      const limits = [
        original({ ...options, validate: false } as Partial<Options>),
        rateLimit({ ...options, clock }),
      ];
      const [theirs, ours] = await Promise.all(
        limits.map((limit) => serve(limit as RequestHandler)),
      );
      for (let step = 0; step < 20; step++) {
        // Ours ends a window of which nothing is counted any more, the original does not.
        if (isSkipping) pass(pick(0, 0, 0, windowMs));
        else pass(pick(0, 0, 0, random(1_000), random(60_000), windowMs - 1, 1));
        const client = pick("a", "a", "b");
        if (random(20) === 0) await Promise.all(limits.map((limit) => limit.resetKey(client)));
        const path = pick("/", "/", "/info", "/fail", "/missing");
        const at = { seed: SEED, round, step, path, client, options };
        const seen = (await ask(ours, path, client)) as object;
        const wanted = (await ask(theirs, path, client)) as object;
        expect({ ...at, ...seen }).toEqual({ ...at, ...wanted });
      }
      await Promise.all(running.splice(0).map((server) => server.close()));
    }
  });

  it("a limit of 0, apart from the headers that no limit of ours can say", async () => {
    const options: Shared = { limit: 0, message: "never", keyGenerator: byClient };
    const theirs = await serve(original({ ...options, validate: false } as Partial<Options>));
    const ours = await serve(rateLimit({ ...options, clock }));
    for (const url of [theirs, ours]) {
      const response = await fetch(url);
      expect([response.status, await response.text()]).toEqual([429, "never"]);
    }
  });
});
