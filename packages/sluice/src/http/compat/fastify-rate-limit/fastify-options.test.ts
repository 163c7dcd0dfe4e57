import { type FastifyInstance, fastify } from "fastify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { concurrency, fixedWindow } from "../../../limits/limits.js";
import { parseRules } from "../../../rules/parse/parse.js";
import { createPolicy } from "../../../rules/policy/create-policy.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { rateLimit } from "../../adapters/fastify/fastify.js";
import type { FastifyOptions } from "./fastify-options.js";

const running: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()));
});

function make(options = {}): FastifyInstance {
  const app = fastify({ forceCloseConnections: true, ...options });
  running.push(app);
  return app;
}

/** Starts an app; returns a function that sends requests and returns their statuses. */
async function start(app: FastifyInstance): Promise<(...paths: string[]) => Promise<number[]>> {
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return async (...paths) => {
    const statuses = [];
    for (const path of paths) statuses.push((await fetch(url + path)).status);
    return statuses;
  };
}

const clock = new ManualClock(Date.UTC(2026, 0, 1));
const one = () => fixedWindow({ limit: 1, windowMs: 60_000 });

describe("rateLimit in Fastify", () => {
  it("limits routes from before the plugin was loaded, without waiting for it", async () => {
    const app = make();
    app.get("/", async () => "hello");
    app.get("/own", { config: { rateLimit: { max: 1 } } }, async () => "own");
    app.register(rateLimit, { max: 2, clock });
    const send = await start(app);
    expect(await send("/", "/", "/")).toEqual([200, 200, 429]);
    expect(await send("/own", "/own")).toEqual([200, 429]);
  });

  it("takes a policy as its options, and shows its headers to inject too", async () => {
    const rules = parseRules({ version: 1, rules: [{ id: "all", limit: one() }] });
    const app = make();
    app.register(rateLimit, createPolicy({ rules, clock }));
    app.get("/", async () => "hello");
    const [passed, refused] = [await app.inject("/"), await app.inject("/")];
    expect([passed.statusCode, refused.statusCode]).toEqual([200, 429]);
    expect(passed.headers).toMatchObject({ ratelimit: '"all";r=0;t=60', "x-ratelimit-limit": "1" });
    expect(refused.headers).toMatchObject({ ratelimit: '"all";r=0;t=60', "retry-after": "60" });
  });

  it("limits routes of plugins below, and none beside its scope", async () => {
    const app = make();
    app.register(async (scope) => {
      scope.register(rateLimit, { max: 1, clock });
      scope.register(async (below) => void below.get("/below", async () => "below"));
    });
    app.register(async (other) => void other.get("/beside", async () => "beside"));
    const send = await start(app);
    expect(await send("/below", "/below", "/beside", "/beside")).toEqual([200, 429, 200, 200]);
  });

  it("counts requests without a route, unless it is not global", async () => {
    const app = make();
    app.register(rateLimit, { max: 1, clock });
    expect(await (await start(app))("/none", "/none")).toEqual([404, 429]);
    const other = make();
    other.register(rateLimit, { max: 1, clock, global: false });
    expect(await (await start(other))("/none", "/none")).toEqual([404, 404]);
  });

  it("counts a request that a hook of app.rateLimit() meets again once", async () => {
    const app = make();
    await app.register(rateLimit, { max: 2, clock });
    app.get("/", { preHandler: app.rateLimit() }, async () => "hello");
    expect(await (await start(app))("/", "/", "/")).toEqual([200, 200, 429]);
  });

  it("counts by app.rateLimit(options) on top, where nothing is global", async () => {
    const app = make();
    await app.register(rateLimit, { global: false, clock });
    const preHandler = app.rateLimit({ max: 1, timeWindow: "1 minute" });
    app.setNotFoundHandler({ preHandler }, (_request, reply) => {
      reply.code(404).send("none");
    });
    expect(await (await start(app))("/none", "/other")).toEqual([404, 429]);
  });

  it("counts each route apart, and routes of one group together", async () => {
    const app = make();
    app.register(rateLimit, { max: 5, clock });
    for (const path of ["/a", "/b"]) {
      app.get(path, { config: { rateLimit: { max: 1 } } }, async () => path);
      app.get(
        `/otp${path}`,
        { config: { rateLimit: { max: 1, groupId: "otp" } } },
        async () => path,
      );
    }
    const send = await start(app);
    expect(await send("/a", "/b", "/a", "/b")).toEqual([200, 200, 429, 429]);
    expect(await send("/otp/a", "/otp/b")).toEqual([200, 429]);
  });

  it("runs the limit of a route in the hook that the route says", async () => {
    const order: string[] = [];
    const app = make();
    app.register(rateLimit, { global: false, clock });
    app.after(() => {
      const rate = {
        max: 1,
        hook: "preHandler" as const,
        onExceeding: () => order.push("counted"),
      };
      const preHandler = async () => void order.push("own");
      app.get("/", { preHandler, config: { rateLimit: rate } }, async () => "hello");
    });
    expect(await (await start(app))("/", "/")).toEqual([200, 429]);
    expect(order).toEqual(["own", "counted", "own"]);
  });

  it("takes limits of ours, for the plugin and for a route", async () => {
    const app = make();
    app.register(rateLimit({ limit: one(), clock }));
    app.after(() => {
      app.get("/", async () => "hello");
      app.get("/two", { config: { rateLimit: { max: 2 } } }, async () => "two");
    });
    const send = await start(app);
    expect(await send("/", "/", "/two", "/two", "/two")).toEqual([200, 429, 200, 200, 429]);
  });

  it("leaves out routes that say so, and decides the others by a policy", async () => {
    const match = { path: "/users/:id" };
    const rules = parseRules({ version: 1, rules: [{ id: "users", match, limit: one() }] });
    const app = make();
    app.register(rateLimit(createPolicy({ rules, clock }), { headers: "none" }));
    app.get("/users/:id", async () => "user");
    app.get("/users/me", { config: { rateLimit: false } }, async () => "me");
    const send = await start(app);
    expect(await send("/users/1", "/users/1", "/users/me", "/other")).toEqual([200, 429, 200, 404]);
  });

  it("releases permits after requests that never had a socket", async () => {
    const app = make();
    app.register(rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }), clock }));
    app.get("/", async () => "hello");
    for (let n = 0; n < 3; n++) {
      await vi.waitFor(async () => expect((await app.inject("/")).statusCode).toBe(200), 20_000);
    }
  });

  it("trusts X-Forwarded-For as far as trustProxy says", async () => {
    const ask = async (app: FastifyInstance, client: string) =>
      (await app.inject({ url: "/", headers: { "x-forwarded-for": client } })).statusCode;
    for (const [trustProxy, second] of [
      ["127.0.0.1", 404],
      [false, 429],
    ] as const) {
      const app = make({ trustProxy });
      app.register(rateLimit, { max: 1, clock });
      expect(await ask(app, "203.0.113.1")).toBe(404);
      expect(await ask(app, "203.0.113.2")).toBe(second);
    }
  });

  it("serves no request while trustProxy lets every client write its own address", async () => {
    const ask = async (app: FastifyInstance) =>
      (await app.inject({ url: "/", headers: { "x-forwarded-for": "203.0.113.1" } })).statusCode;
    for (const [options, status] of [
      [{}, 500],
      [{ allowList: ["203.0.113.1"] }, 500],
      [{ keyGenerator: () => "all" }, 404],
      [{ identity: { trustedProxies: ["loopback"] } }, 404],
    ] as const) {
      const app = make({ trustProxy: true });
      app.register(rateLimit, { max: 1, clock, ...options } as FastifyOptions);
      expect([await ask(app), await ask(app)]).toEqual([status, status === 404 ? 429 : 500]);
    }
  });

  it("counts by the address alone if a proxy writes the port as well", async () => {
    const app = make({ trustProxy: "127.0.0.1" });
    app.register(rateLimit, { max: 1, clock });
    const ask = async (client: string) =>
      (await app.inject({ url: "/", headers: { "x-forwarded-for": client } })).statusCode;
    expect(await ask("203.0.113.1:80")).toBe(404);
    expect(await ask("203.0.113.1:81")).toBe(429);
  });

  it("goes on if a callback throws or rejects, and calls onError", async () => {
    for (const fail of [
      () => {
        throw new Error("broken");
      },
      () => Promise.reject(new Error("broken")),
    ]) {
      const onError = vi.fn();
      const app = make();
      const callbacks = { onExceeding: fail, onExceeded: fail, onBanReach: fail, onError };
      app.register(rateLimit, { max: 1, clock, ban: 0, ...callbacks });
      expect(await (await start(app))("/", "/")).toEqual([404, 403]);
      expect(onError).toHaveBeenCalledTimes(3);
    }
  });

  it("counts routes apart whose names look alike or are long", async () => {
    const long = `/${"x".repeat(70)}`;
    const paths = ["/a-b", "/a/b", `${long}1`, `${long}2`];
    const app = make();
    app.register(rateLimit, { max: 9, clock, nameSpace: "n".repeat(60) });
    app.after(() => {
      for (const path of paths) {
        app.get(path, { config: { rateLimit: { max: 1 } } }, async () => "one");
      }
    });
    const send = await start(app);
    expect(await send(...paths, ...paths)).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
  });

  it("shows its policy, unless a function chooses among several, and can be closed alone", async () => {
    const limit = rateLimit({ max: 1, clock });
    const app = make();
    app.register(limit);
    const send = await start(app);
    await limit.policy?.block("default", "ip:127.0.0.1", 60_000);
    expect(await send("/")).toEqual([429]);
    await limit.close();
    expect(await send("/")).toEqual([503]);
    const policy = createPolicy({ rules: { version: 1, rules: [{ id: "all", limit: one() }] } });
    expect(rateLimit(policy).policy).toBe(policy);
    expect(rateLimit({ max: () => 1 }).policy).toBeUndefined();
  });

  it("hands an error of a user's function to Fastify", async () => {
    const fail = () => {
      throw new Error("broken");
    };
    for (const options of [
      { keyGenerator: fail },
      { allowList: fail },
      { max: fail },
      { timeWindow: () => Promise.reject(new Error("broken")) },
      { max: 0, errorResponseBuilder: fail },
    ]) {
      const app = make();
      app.register(rateLimit, { clock, ...options } as FastifyOptions);
      expect(await (await start(app))("/")).toEqual([500]);
    }
  });

  it("answers a refusal by the error handler, unless the limit or its body is ours", async () => {
    const own = { statusCode: 429, code: 7 };
    for (const [options, thrown] of [
      [{ max: 1 }, expect.objectContaining({ message: "Rate limit exceeded, retry in 1 minute" })],
      [{ max: 1, errorResponseBuilder: () => own }, own],
      [{ limit: one(), errorResponseBuilder: () => own }, own],
      [{ max: 1, body: "text" }, undefined],
      [{ limit: one() }, undefined],
    ] as const) {
      const app = make();
      app.register(rateLimit, { clock, ...options } as FastifyOptions);
      const seen = vi.fn();
      app.setErrorHandler((error, _request, reply) => {
        seen(error);
        reply.code(429).send("handled");
      });
      await app.inject("/");
      const { body, headers } = await app.inject("/");
      expect(seen.mock.calls).toEqual(thrown === undefined ? [] : [[thrown]]);
      expect(body === "handled").toBe(thrown !== undefined);
      expect(headers["cache-control"]).toBe("no-store");
    }
  });
});

describe("options of rateLimit in Fastify that can't be", () => {
  it.each<[object, string]>([
    [{ limit: one(), max: 5 }, "takes limit or max, not both"],
    [{ limit: one(), ban: 5 }, "takes limit or ban, not both"],
    [{ limit: one(), continueExceeding: true }, "takes limit or continueExceeding, not both"],
    [{ groupId: 5 }, "groupId must be a string, got 5"],
    [{ skipOnError: "no" }, 'skipOnError must be true or false, got "no"'],
    [{ enableDraftSpec: 1 }, "enableDraftSpec must be true or false, got 1"],
    [{ continueExceeding: "no" }, "continueExceeding must be true or false"],
    [{ exponentialBackoff: null }, "exponentialBackoff must be true or false, got null"],
    [{ global: "no" }, 'global must be true or false, got "no"'],
    [{ keyGenerator: "ip" }, 'keyGenerator must be a function, got "ip"'],
    [{ onExceeded: true }, "onExceeded must be a function, got true"],
    [{ key: "ip", keyGenerator: () => "a" }, "takes key or keyGenerator, not both"],
    [{ timeWindow: "soon" }, 'string such as "1 minute", got "soon"'],
    [{ hook: "onSend" }, "hook must be one of onRequest"],
    [{ redis: {} }, "pass store: redisStore(client)"],
    [{ store: class {}, limit: one() }, "a store class takes max and timeWindow, not limit"],
    [{ maximum: 5 }, 'unknown option "maximum"'],
    [{ timeWindw: 5 }, 'unknown option "timeWindw", did you mean timeWindow? known: limit, key'],
  ])("%j", async (options, message) => {
    expect(() => rateLimit(options as FastifyOptions)).toThrow(message);
    const app = make();
    app.register(rateLimit, options as FastifyOptions);
    await expect(app.ready()).rejects.toThrow(message);
  });

  it("limits of a route that are none, or stand beside a policy", async () => {
    const rules = parseRules({ version: 1, rules: [{ id: "all", limit: one() }] });
    const policy = createPolicy({ rules });
    for (const [plugin, config, message] of [
      [rateLimit({ max: 1 }), { rateLimit: true }, "must be false or options, got true"],
      [rateLimit(policy), { rateLimit: { max: 1 } }, "beside a policy"],
    ] as const) {
      const app = make();
      await app.register(plugin);
      expect(() => app.get("/", { config: config as object }, async () => "")).toThrow(message);
    }
  });
});
