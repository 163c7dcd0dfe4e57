// The same requests to @fastify/rate-limit and to ours, with the same options: what clients see of the two
// has to be equal. Both follow one clock.

import {
  type FastifyInstance,
  type FastifyPluginCallback,
  type FastifyRequest,
  fastify,
} from "fastify";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { rateLimit } from "../../adapters/fastify/fastify.js";
import type { FastifyOptions } from "./fastify-options.js";

// Without its types: they declare the same members of Fastify's instances as ours.
const name: string = "@fastify/rate-limit";
const original = (await import(name)).default as FastifyPluginCallback<object>;

const WINDOW_MS = 60_000;
/** A path, after "HEAD " if that is the method, with the client that asks for it; or milliseconds that pass. */
type Step = readonly [path: string, client: string] | number;

const running: FastifyInstance[] = [];
const clock = new ManualClock(Date.UTC(2030, 0, 1));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: clock.now() });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((app) => app.close()));
});

async function serve(
  register: (app: FastifyInstance) => PromiseLike<unknown>,
): Promise<{ app: FastifyInstance; url: string }> {
  const app = fastify({ forceCloseConnections: true });
  running.push(app);
  await register(app);
  app.get("/", async () => "hello");
  app.get("/own", { config: { rateLimit: { max: 1, timeWindow: WINDOW_MS } } }, async () => "own");
  app.get("/other", { config: { rateLimit: { max: 2 } } }, async () => "other");
  // One object, the limits of two routes.
  const shared = { rateLimit: { max: 1 } };
  app.get("/shared/1", { config: shared }, async () => "one");
  app.get("/shared/2", { config: shared }, async () => "two");
  app.get("/free", { config: { rateLimit: false } }, async () => "free");
  return { app, url: await app.listen({ port: 0, host: "127.0.0.1" }) };
}

function pass(ms: number): void {
  clock.advance(ms);
  vi.setSystemTime(clock.now());
}

const FIELDS = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "retry-after",
];

async function ask(url: string, path: string, client: string): Promise<Record<string, unknown>> {
  const method = path.startsWith("HEAD ") ? "HEAD" : "GET";
  const target = url + path.slice(path.indexOf("/"));
  const response = await fetch(target, { method, headers: { "x-client": client } });
  const body = await response.text();
  const fields = FIELDS.map((name) => [name, response.headers.get(name)]);
  return { status: response.status, body, ...Object.fromEntries(fields) };
}

const byClient = (request: FastifyRequest) => String(request.headers["x-client"]);
const asks = (count: number, path = "/", client = "a"): Step[] =>
  Array.from({ length: count }, () => [path, client] as const);
const builder: FastifyOptions["errorResponseBuilder"] = (_request, context) =>
  Object.assign(new Error(`${context.max} in ${context.after}, ban ${context.ban}`), {
    statusCode: context.statusCode,
  });

const table: [name: string, options: FastifyOptions, steps: Step[]][] = [
  [
    "max and timeWindow, over the end of a window",
    { max: 3 },
    [...asks(5), WINDOW_MS - 1, ...asks(1), 1, ...asks(4)],
  ],
  ["timeWindow as text", { max: 1, timeWindow: "1 minute" }, asks(2)],
  ["timeWindow in short", { max: 1, timeWindow: "60s" }, asks(2)],
  ["one client apart from another", { max: 1 }, [...asks(2), ...asks(2, "/", "b")]],
  ["routes of their own", { max: 5 }, [...asks(2, "/own"), ...asks(3, "/other"), ...asks(2)]],
  ["a route without limits", { max: 1 }, [...asks(3, "/free"), ...asks(2)]],
  ["global: false", { max: 1, global: false }, [...asks(3), ...asks(2, "/own")]],
  ["allowList", { max: 1, allowList: ["b"] }, [...asks(2), ...asks(3, "/", "b")]],
  [
    "a function as allowList",
    { max: 1, allowList: async (_request, key) => key === "b" },
    [...asks(2), ...asks(3, "/", "b")],
  ],
  ["ban", { max: 1, ban: 2 }, [...asks(5), WINDOW_MS, ...asks(3)]],
  ["ban: 0", { max: 1, ban: 0 }, asks(3)],
  [
    "max as a function",
    { max: async (_request, key) => (key === "a" ? 1 : 2) },
    [...asks(2), ...asks(3, "/", "b")],
  ],
  [
    "timeWindow as a function",
    { max: 1, timeWindow: () => WINDOW_MS },
    [...asks(2), WINDOW_MS, ...asks(2)],
  ],
  ["enableDraftSpec", { max: 1, enableDraftSpec: true }, asks(2)],
  [
    "addHeaders",
    { max: 1, addHeaders: { "retry-after": false, "x-ratelimit-limit": false } },
    asks(2),
  ],
  [
    "addHeadersOnExceeding",
    { max: 1, addHeadersOnExceeding: { "x-ratelimit-limit": false } },
    asks(2),
  ],
  ["hook: preHandler", { max: 1, hook: "preHandler" }, asks(2)],
  ["errorResponseBuilder", { max: 1, ban: 1, errorResponseBuilder: builder }, asks(3)],
  [
    "a window from the first request",
    { max: 2 },
    [...asks(1), 45_500, ...asks(2), 14_500, ...asks(3)],
  ],
  ["HEAD and GET", { max: 1 }, [...asks(2), ...asks(2, "HEAD /")]],
  ["HEAD and GET of a route", {}, [...asks(2, "/own"), ...asks(2, "HEAD /own")]],
  ["one object of two routes", {}, [...asks(2, "/shared/1"), ...asks(2, "/shared/2")]],
  [
    "continueExceeding",
    { max: 1, continueExceeding: true, ban: 2 },
    [...asks(2), 40_000, ...asks(1), 40_000, ...asks(2), WINDOW_MS, ...asks(1)],
  ],
  [
    "exponentialBackoff",
    { max: 1, exponentialBackoff: true },
    [...asks(4), 1_000, ...asks(2), WINDOW_MS, ...asks(2)],
  ],
  [
    "a ban that ends with the window",
    { max: 1, ban: 1 },
    [...asks(1), 59_000, ...asks(2), 1_000, ...asks(3)],
  ],
  ["numbers as keys", { max: 1, keyGenerator: () => 42 }, asks(2)],
  ["numbers in allowList", { max: 1, keyGenerator: () => 42, allowList: [42] as never }, asks(3)],
  ...[Number.NaN, -1, 1.7, "5", null].map((max): [string, FastifyOptions, Step[]] => [
    `max: ${max}`,
    { max: max as number },
    asks(2),
  ]),
  ...["1000", ".5 min", "2 hrs", "1w", "1Y", "90 secs", "250 msecs", -5, Number.NaN, 1500.9].map(
    (timeWindow): [string, FastifyOptions, Step[]] => [
      `timeWindow: ${timeWindow}`,
      { max: 1, timeWindow },
      [...asks(2), 200, ...asks(1)],
    ],
  ),
  ["ban: NaN", { max: 1, ban: Number.NaN }, asks(3)],
];

describe("clients see the same of @fastify/rate-limit and of ours, with", () => {
  it.each(table)("%s", async (_name, given, steps) => {
    const options: FastifyOptions = {
      timeWindow: WINDOW_MS,
      keyGenerator: byClient,
      ...given,
    };
    const theirs = await serve((app) => app.register(original, options));
    const ours = await serve((app) => app.register(rateLimit, { ...options, clock }));
    for (const [index, step] of steps.entries()) {
      if (typeof step === "number") {
        pass(step);
        continue;
      }
      const [path, client] = step;
      const seen = await ask(ours.url, path, client);
      const wanted = await ask(theirs.url, path, client);
      expect({ index, ...seen }).toEqual({ index, ...wanted });
    }
  });

  it("the callbacks that see requests", async () => {
    const calls = { theirs: [] as string[], ours: [] as string[] };
    const toOptions = (list: string[]): FastifyOptions => ({
      max: 1,
      ban: 1,
      timeWindow: WINDOW_MS,
      keyGenerator: byClient,
      onExceeding: (_request, key) => list.push(`passed ${key}`),
      onExceeded: (_request, key) => list.push(`refused ${key}`),
      onBanReach: (_request, key) => list.push(`banned ${key}`),
    });
    const theirs = await serve((app) => app.register(original, toOptions(calls.theirs)));
    const ours = await serve((app) => app.register(rateLimit, { ...toOptions(calls.ours), clock }));
    for (const { url } of [theirs, ours]) for (let n = 0; n < 4; n++) await ask(url, "/", "a");
    expect(calls.ours).toEqual(calls.theirs);
    expect(calls.ours).toContain("banned a");
  });
});
