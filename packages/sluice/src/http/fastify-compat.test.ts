// The same requests to @fastify/rate-limit and to ours, with the same options: what clients see of the two
// has to be equal. Both follow one clock; their windows are brought to begin at the same instant.

import original, { type RateLimitPluginOptions } from "@fastify/rate-limit";
import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import type { FastifyOptions } from "./fastify/options.js";
import { rateLimit } from "./fastify.js";

const WINDOW_MS = 60_000;
/** A path with the client that asks for it, or milliseconds that pass. */
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
  app.get("/free", { config: { rateLimit: false } }, async () => "free");
  return { app, url: await app.listen({ port: 0, host: "127.0.0.1" }) };
}

/** Moves time to where the windows of a client begin. */
async function toWindowStart(client: string): Promise<void> {
  let resetMs = 0;
  const { url } = await serve(async (app) => {
    app.register(rateLimit, {
      max: 1,
      timeWindow: WINDOW_MS,
      clock,
      keyGenerator: () => client,
    });
    app.addHook("preHandler", async (request) => {
      resetMs = request.rateLimit?.decision.resetMs ?? 0;
    });
  });
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
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "retry-after",
];

async function ask(url: string, path: string, client: string): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, { headers: { "x-client": client } });
  const body = await response.text();
  const fields = FIELDS.map((name) => [name, response.headers.get(name)]);
  return { status: response.status, body, ...Object.fromEntries(fields) };
}

const byClient = (request: FastifyRequest) => String(request.headers["x-client"]);
const asks = (count: number, path = "/", client = "a"): Step[] =>
  Array.from({ length: count }, () => [path, client] as const);
/** As the original answers; ours has a problem body unless it is told otherwise. */
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
];

describe("clients see the same of @fastify/rate-limit and of ours, with", () => {
  it.each(table)("%s", async (_name, given, steps) => {
    await toWindowStart("a");
    const options: FastifyOptions = {
      timeWindow: WINDOW_MS,
      keyGenerator: byClient,
      errorResponseBuilder: builder,
      ...given,
    };
    const theirs = await serve((app) =>
      app.register(original, options as unknown as RateLimitPluginOptions),
    );
    const ours = await serve((app) => app.register(rateLimit, { ...options, clock }));
    for (const [index, step] of steps.entries()) {
      if (typeof step === "number") {
        pass(step);
        continue;
      }
      const [path, client] = step;
      const seen = await ask(ours.url, path, client);
      const wanted = await ask(theirs.url, path, client);
      // Each client has windows of its own: only those of "a" begin together.
      const names = client === "a" ? Object.keys(wanted) : ["status", "x-ratelimit-remaining"];
      for (const name of names) {
        expect(`${index}: ${name} ${seen[name]}`).toBe(`${index}: ${name} ${wanted[name]}`);
      }
    }
  });

  it("the callbacks that are told of requests", async () => {
    const told = { theirs: [] as string[], ours: [] as string[] };
    const toOptions = (list: string[]): FastifyOptions => ({
      max: 1,
      ban: 1,
      timeWindow: WINDOW_MS,
      keyGenerator: byClient,
      onExceeding: (_request, key) => list.push(`passed ${key}`),
      onExceeded: (_request, key) => list.push(`refused ${key}`),
      onBanReach: (_request, key) => list.push(`banned ${key}`),
    });
    const theirs = await serve((app) =>
      app.register(original, toOptions(told.theirs) as unknown as RateLimitPluginOptions),
    );
    const ours = await serve((app) => app.register(rateLimit, { ...toOptions(told.ours), clock }));
    for (const { url } of [theirs, ours]) for (let n = 0; n < 4; n++) await ask(url, "/", "a");
    expect(told.ours).toEqual(told.theirs);
    expect(told.ours).toContain("banned a");
  });
});
