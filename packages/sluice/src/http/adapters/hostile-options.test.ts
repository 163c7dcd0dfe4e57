// What users may pass to the adapters by mistake, and what their functions may return, throw or reject with: an
// error that names the option when it is given, or one that the framework answers. Never a crash, and never a
// key that all callers share.

import { createServer } from "node:http";
import express, { type ErrorRequestHandler } from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { listen } from "../../../test/http/framework-harness.js";
import { fixedWindow } from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { Store } from "../../stores/store.js";
import { rateLimit as expressLimit } from "./express/express.js";
import { rateLimit as fastifyLimit } from "./fastify/fastify.js";
import { rateLimiter as honoLimit } from "./hono/hono.js";
import { rateLimit as koaLimit } from "./koa/koa.js";
import { RateLimit, RateLimitModule } from "./nest/nest.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const window = fixedWindow({ limit: 1, windowMs: 60_000 });
const withOption = (make: (options: never) => unknown, others: object, name: string) => {
  return (value: unknown) => make({ ...others, [name]: value } as never);
};
const asIs = (make: (options: never) => unknown) => (value: unknown) => make(value as never);

const never = [Number.NaN, -1, 1.5, "x", 5n, null, true, {}, Symbol("x")];
const notObjects = [5, "x", null, true, [], Symbol("x")];
const notStrings = [5, null, true, {}, Symbol("x")];
const notLists = [5, "127.0.0.1", true, {}, Symbol("x")];

const refused: [name: string, make: (value: unknown) => unknown, values: unknown[]][] = [
  ["limit in Express", withOption(expressLimit, {}, "limit"), never],
  ["windowMs in Express", withOption(expressLimit, { limit: 1 }, "windowMs"), [...never, 0]],
  ["ipv6Subnet in Express", withOption(expressLimit, { limit: 1 }, "ipv6Subnet"), [...never, 129]],
  ["identifier in Express", withOption(expressLimit, { limit: 1 }, "identifier"), notStrings],
  ["limit in Hono", withOption(honoLimit, {}, "limit"), never],
  ["windowMs in Hono", withOption(honoLimit, { limit: 1 }, "windowMs"), never],
  ["max in Koa", withOption(koaLimit, {}, "max"), never],
  ["duration in Koa", withOption(koaLimit, { max: 1 }, "duration"), never],
  ["errorMessage in Koa", withOption(koaLimit, { max: 1 }, "errorMessage"), [5, null, true, 5n]],
  ["headers in Koa", withOption(koaLimit, { max: 1 }, "headers"), [5, null, [], true]],
  ["options of Express", asIs(expressLimit), notObjects],
  ["options of Hono", asIs(honoLimit), notObjects],
  ["options of Koa", asIs(koaLimit), notObjects],
  ["options of Nest", asIs(RateLimit), notObjects],
  ["options of the module of Nest", asIs(RateLimitModule.forRoot), notObjects],
  [
    "statusPath in Nest",
    withOption(RateLimitModule.forRoot, { limit: window }, "statusPath"),
    [...notStrings, ""],
  ],
  [
    "names of limits in Nest",
    (name) => RateLimit({ limits: [{ name: name as never, limit: window }] }),
    [...notStrings, ""],
  ],
  ["nameSpace in Fastify", withOption(fastifyLimit, {}, "nameSpace"), [...notStrings, ""]],
  ["allowList in Fastify", withOption(fastifyLimit, {}, "allowList"), notLists],
  ["addHeaders in Fastify", withOption(fastifyLimit, {}, "addHeaders"), [5, null, true, "x"]],
];

describe("is an error when it is given, and says what was seen:", () => {
  it.each(refused)("%s", (_name, make, values) => {
    for (const value of values) {
      const label = typeof value === "symbol" ? "symbol" : `${typeof value} ${value}`;
      expect(() => make(value), label).toThrow(expect.objectContaining({ name: "SluiceError" }));
      expect(() => make(value), label).toThrow(/got/);
    }
  });
});

/** A way to start an application behind options, and to ask it: the status, and the body. */
type Start = (options: object) => Promise<() => Promise<[status: number, body: string]>>;

async function serve(server: Parameters<typeof listen>[0]) {
  const { url, close } = await listen(server);
  closing.push(close);
  return async (): Promise<[number, string]> => {
    const response = await fetch(url);
    return [response.status, await response.text()];
  };
}

const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
  response.status(error.status ?? 500).send(error.message);
};

const frameworks: [name: string, start: Start, names: { limit: string; key: string }][] = [
  [
    "Express",
    async (options) => {
      const app = express();
      app.use(expressLimit(options));
      app.get("/", (_request, response) => void response.send("ok"));
      app.use(answerError);
      return serve(createServer(app));
    },
    { limit: "limit", key: "keyGenerator" },
  ],
  [
    "Fastify",
    async (options) => {
      const app = fastify();
      closing.push(() => app.close());
      await app.register(fastifyLimit, options);
      app.get("/", async () => "ok");
      return async () => {
        const { statusCode, body } = await app.inject("/");
        return [statusCode, body];
      };
    },
    { limit: "max", key: "keyGenerator" },
  ],
  [
    "Hono",
    async (options) => {
      const app = new Hono();
      app.use(honoLimit(options));
      app.get("/", (c) => c.text("ok"));
      app.onError((error, c) => {
        const { status = 500 } = error as { status?: number };
        return c.text(error.message, status as 500);
      });
      return async () => {
        const response = await app.request("/");
        return [response.status, await response.text()];
      };
    },
    { limit: "limit", key: "keyGenerator" },
  ],
  [
    "Koa",
    async (options) => {
      const app = new Koa();
      app.silent = true;
      app.use(koaLimit(options));
      app.use((ctx) => {
        ctx.body = "ok";
      });
      return serve(createServer(app.callback()));
    },
    { limit: "max", key: "id" },
  ],
];

describe.each(frameworks)("%s", (framework, start, { limit, key }) => {
  const statusesOf = async (options: object) => {
    const ask = await start(options);
    return [(await ask())[0], (await ask())[0]];
  };

  it.each([
    ["__proto__"],
    ["constructor"],
    ["a\0b"],
    ["\ud800"],
    ["x".repeat(1_000_000)],
    [0],
    [-1.5],
  ])("counts by any string or number", async (found) => {
    expect(await statusesOf({ [limit]: 1, [key]: () => found })).toEqual([200, 429]);
  });

  it("distinguishes keys that differ at the end of a megabyte", async () => {
    let count = 0;
    const found = () => `${"x".repeat(1_000_000)}${count++}`;
    expect(await statusesOf({ [limit]: 1, [key]: found })).toEqual([200, 200]);
  });

  it.each([
    [""],
    [undefined],
    [null],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [5n],
    [true],
    [{ toString: () => "a" }],
    [["a"]],
    [Symbol("a")],
  ])("answers 400 to a key that all callers could share", async (found) => {
    expect(await statusesOf({ [limit]: 1, [key]: () => found })).toEqual([400, 400]);
  });

  const functions: Record<string, string[]> = {
    Express: ["keyGenerator", "skip", "limit", "handler", "retryAfter"],
    Fastify: ["keyGenerator", "allowList", "max", "timeWindow", "errorResponseBuilder"],
    Hono: ["keyGenerator", "skip", "limit", "handler", "message"],
    Koa: ["id", "whitelist", "blacklist"],
  };
  it.each(functions[framework])("answers 500 if %s throws or rejects", async (name) => {
    const broken = () => {
      throw new Error("broken");
    };
    for (const fail of [broken, async () => broken()]) {
      const ask = await start({ [limit]: 0, [key]: () => "a", [name]: fail });
      expect((await ask())[0]).toBe(500);
    }
  });

  it("takes Infinity, and more than can be counted, as the largest limit", async () => {
    for (const large of [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 1e300]) {
      expect(await statusesOf({ [limit]: large, [key]: () => "a" })).toEqual([200, 200]);
      if (framework === "Koa") continue;
      expect(await statusesOf({ [limit]: () => large, [key]: () => "a" })).toEqual([200, 200]);
    }
  });
});

describe("a refused request in Fastify", () => {
  it("may be answered by an errorResponseBuilder that takes its time", async () => {
    const app = fastify();
    closing.push(() => app.close());
    const errorResponseBuilder = async () => ({ statusCode: 418, message: "later" });
    await app.register(fastifyLimit, { max: 0, errorResponseBuilder });
    app.get("/", async () => "ok");
    const { statusCode, body } = await app.inject("/");
    expect([statusCode, JSON.parse(body).message]).toEqual([418, "later"]);
  });
});

describe("createRateLimit in Fastify", () => {
  it("reads how a request stands while the store does not answer, as skipOnError says", async () => {
    const down = () => Promise.reject(new Error("down"));
    const store = memoryStore();
    const failing = { isRemote: true, decide: down, peek: down, debit: down };
    const remote = new Proxy(store, {
      get: (target, name) => {
        const found = Reflect.get(name in failing ? failing : target, name);
        return typeof found === "function" ? found.bind(target) : found;
      },
    }) as Store;
    for (const [skipOnError, isRead] of [
      [true, true],
      [undefined, true],
      [false, false],
    ] as const) {
      const app = fastify();
      closing.push(() => app.close());
      const name = `skip-${skipOnError}`;
      const skipping = skipOnError === undefined ? {} : { skipOnError };
      await app.register(fastifyLimit, { global: false, store: remote, name, ...skipping });
      const check = app.createRateLimit();
      app.get("/", (request) => check(request, { increment: false }));
      const { statusCode, body } = await app.inject("/");
      expect(statusCode === 200, name).toBe(isRead);
      if (isRead) expect(JSON.parse(body)).toMatchObject({ isAllowed: false, isExceeded: false });
    }
  });
});

describe("a limit in Express after the headers were sent", () => {
  it("lets requests pass, or hands them to the handler, and sets nothing", async () => {
    const app = express();
    const onError = vi.fn();
    app.use((_request, response, next) => {
      response.write("begun ");
      next();
    });
    app.use(expressLimit({ limit: 1, handler: (_request, response) => void response.end("no") }));
    app.get("/", (_request, response) => void response.end("ok"));
    app.use(((error, _request, _response, _next) => onError(error)) as ErrorRequestHandler);
    const ask = await serve(createServer(app));
    expect(await ask()).toEqual([200, "begun ok"]);
    expect(await ask()).toEqual([200, "begun no"]);
    expect(onError).not.toHaveBeenCalled();
  });
});
