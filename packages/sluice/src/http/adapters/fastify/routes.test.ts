// Where limits run: in a hook of each route, and in one of the application for requests without a route.

import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type FastifyOptions, normalizeIP, rateLimit } from "./fastify.js";

const running: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()));
});

const clock = new ManualClock(Date.UTC(2026, 0, 1));

async function make(options: FastifyOptions): Promise<FastifyInstance> {
  const app = fastify();
  running.push(app);
  await app.register(rateLimit, { clock, ...options });
  return app;
}

async function statuses(app: FastifyInstance, ...urls: string[]): Promise<number[]> {
  const seen = [];
  for (const url of urls) seen.push((await app.inject(url)).statusCode);
  return seen;
}

describe("the hook of a route", () => {
  it("runs after hooks that the application adds later, so that keyGenerator sees the user", async () => {
    type WithUser = FastifyRequest & { user?: string };
    const app = await make({ max: 1, keyGenerator: (request) => (request as WithUser).user ?? "" });
    app.addHook("onRequest", async (request) => {
      (request as WithUser).user = (request.query as { user: string }).user;
    });
    app.get("/", async () => "hello");
    expect(await statuses(app, "/?user=a", "/?user=a", "/?user=b")).toEqual([200, 429, 200]);
  });

  it("counts routes apart that have one object as their options, and HEAD apart from GET", async () => {
    const app = await make({ max: 9 });
    const config = { rateLimit: { max: 1 } };
    app.get("/1", { config }, async () => "one");
    app.get("/2", { config }, async () => "two");
    expect(await statuses(app, "/1", "/2", "/1", "/2")).toEqual([200, 200, 429, 429]);
    const head = { method: "HEAD", url: "/1" } as const;
    expect((await app.inject(head)).statusCode).toBe(200);
    expect((await app.inject(head)).statusCode).toBe(429);
  });

  it("counts routes apart that differ by their constraints", async () => {
    const app = await make({ max: 9 });
    for (const [version, max] of [
      ["1.0.0", 1],
      ["2.0.0", 2],
    ] as const) {
      const route = { constraints: { version }, config: { rateLimit: { max } } };
      app.get("/", route, async () => version);
    }
    const ask = async (version: string) =>
      (await app.inject({ url: "/", headers: { "accept-version": version } })).statusCode;
    expect([await ask("1.0.0"), await ask("1.0.0")]).toEqual([200, 429]);
    expect([await ask("2.0.0"), await ask("2.0.0"), await ask("2.0.0")]).toEqual([200, 200, 429]);
  });

  it("leaves the options of a route as they were", async () => {
    const app = await make({ max: 9 });
    const config = { rateLimit: { max: 1 } };
    app.get("/", { config }, async () => "hello");
    expect(Reflect.ownKeys(config)).toEqual(["rateLimit"]);
  });
});

describe("the handler of requests without a route", () => {
  it("counts under the plugin's limit", async () => {
    const app = await make({ max: 1 });
    expect(await statuses(app, "/no", "/no")).toEqual([404, 429]);
  });

  it("counts under its own limit instead if it has one", async () => {
    const app = await make({ max: 1 });
    app.setNotFoundHandler({ preHandler: app.rateLimit({ max: 2 }) }, (_request, reply) => {
      reply.code(404).send("no");
    });
    expect(await statuses(app, "/no", "/no", "/no")).toEqual([404, 404, 429]);
  });
});

describe("createRateLimit", () => {
  it("counts where a handler calls it, or reports how it stands", async () => {
    const app = await make({ global: false, max: 1, ban: 1, allowList: ["127.0.0.2"] });
    const check = app.createRateLimit();
    app.get("/count", (request) => check(request));
    app.get("/read", (request) => check(request, { increment: false }));
    const ask = async (url: string, remoteAddress = "127.0.0.1") =>
      (await app.inject({ url, remoteAddress })).json();
    const passed = {
      isAllowed: false,
      key: "127.0.0.1",
      max: 1,
      timeWindow: 60_000,
      remaining: 0,
      ttl: 60_000,
      ttlInSeconds: 60,
      isExceeded: false,
      isBanned: false,
    };
    expect(await ask("/read")).toEqual({ ...passed, remaining: 1, ttl: 0, ttlInSeconds: 0 });
    expect(await ask("/count")).toEqual(passed);
    clock.advance(500);
    const later = { ...passed, ttl: 59_500 };
    expect(await ask("/read")).toEqual(later);
    expect(await ask("/count")).toEqual({ ...later, isExceeded: true });
    expect(await ask("/count")).toEqual({ ...later, isExceeded: true, isBanned: true });
    expect(await ask("/read")).toEqual({ ...later, isExceeded: true, isBanned: true });
    expect(await ask("/count", "127.0.0.2")).toEqual({ isAllowed: true, key: "127.0.0.2" });
  });

  it("has a limit of its own with options", async () => {
    const app = await make({ max: 9 });
    const [check, other] = [app.createRateLimit({ max: 1 }), app.createRateLimit({ max: 1 })];
    app.get("/", async (request) => [
      await check(request),
      await check(request),
      await other(request),
    ]);
    const states = (await app.inject("/")).json() as { isExceeded: boolean }[];
    expect(states.map(({ isExceeded }) => isExceeded)).toEqual([false, true, false]);
  });
});

describe("normalizeIP", () => {
  it.each([
    ["203.0.113.7", undefined, "203.0.113.7"],
    ["::ffff:203.0.113.7", undefined, "203.0.113.7"],
    ["2001:DB8:0:12::1", undefined, "2001:db8:0:12::"],
    ["2001:db8:0:12::1", 32, "2001:db8::"],
    ["2001:db8:0:12::1", 128, "2001:db8:0:12::1"],
    ["Local", undefined, "local"],
  ])("writes %s under %s bits as %s", (ip, bits, written) => {
    expect(normalizeIP(ip, bits)).toBe(written);
  });
});
