import { createServer } from "node:http";
import express, { type Express, type Request } from "express";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it, vi } from "vitest";
import { listen, type RunningServer } from "../../../../test/http/framework-harness.js";
import { fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { parseRules } from "../../../rules/parse/parse.js";
import { createPolicy } from "../../../rules/policy/create-policy.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { redisStore } from "../../../stores/redis/redis-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { rateLimit } from "../../adapters/express/express.js";
import type { ExpressOptions } from "./express-options.js";

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

/** Starts an app; returns a function that sends a request and returns the status. */
async function start(
  app: Express,
): Promise<(path?: string, init?: RequestInit) => Promise<Response>> {
  app.set("env", "test");
  const server = await listen(createServer(app));
  running.push(server);
  return (path = "/", init = {}) => fetch(server.url + path, init);
}

async function serve(options: ExpressOptions, set?: (app: Express) => void) {
  const app = express();
  set?.(app);
  app.use(rateLimit({ clock: new ManualClock(Date.UTC(2026, 0, 1)), ...options }));
  app.use((_request, response) => void response.send("hello"));
  return start(app);
}

const one = () => fixedWindow({ limit: 1, windowMs: 60_000 });
const from = (address: string): RequestInit => ({ headers: { "x-forwarded-for": address } });

describe("rateLimit in Express", () => {
  it("sees the path that the client asked for, on a router and on a single route", async () => {
    const match = { path: "/api/login" };
    const rules = parseRules({ version: 1, rules: [{ id: "login", match, limit: one() }] });
    for (const isOnRoute of [false, true]) {
      const limit = rateLimit(createPolicy({ rules }));
      const router = express.Router();
      if (!isOnRoute) router.use(limit);
      router.get("/:page", ...(isOnRoute ? [limit] : []), (_request, response) => {
        response.send("page");
      });
      const app = express();
      app.use("/api", router);
      const send = await start(app);
      const paths = ["/api/login", "/api/other", "/api/login"];
      const found = [];
      for (const path of paths) found.push((await send(path)).status);
      expect(found).toEqual([200, 200, 429]);
    }
  });

  it("leaves responses alone that come through no limit, in its app and in others", async () => {
    const app = express();
    const limited = express();
    limited.use(rateLimit({ limit: one() }));
    app.get("/free", (_request, response) => void response.send("free"));
    app.use("/limited", limited);
    // Answered by the app around it, where the response is no longer the inner one's.
    app.use((_request, response) => void response.send("outer"));
    const send = await start(app);
    const other = await start(
      express().get("/", (_request, response) => void response.send("other")),
    );
    expect((await send("/limited")).headers.get("x-ratelimit-limit")).toBe("1");
    for (const response of [await send("/free"), await other()]) {
      expect(response.status).toBe(200);
      expect([...response.headers.keys()].filter((name) => /rate/.test(name))).toEqual([]);
    }
    expect((await send("/limited")).status).toBe(429);
  });

  it("trusts X-Forwarded-For as far as `trust proxy` says", async () => {
    const plain = await serve({ limit: one() });
    expect((await plain("/", from("203.0.113.1"))).status).toBe(200);
    expect((await plain("/", from("203.0.113.2"))).status).toBe(429);
    const trusting = await serve({ limit: one() }, (app) => app.set("trust proxy", "loopback"));
    expect((await trusting("/", from("203.0.113.1"))).status).toBe(200);
    expect((await trusting("/", from("203.0.113.2"))).status).toBe(200);
    expect((await trusting("/", from("198.51.100.9, 203.0.113.2"))).status).toBe(429);
    // Some proxies write the port as well.
    expect((await trusting("/", from("203.0.113.2:4711"))).status).toBe(429);
  });

  it("serves no request while `trust proxy` lets every client write its own address", async () => {
    const send = await serve({ limit: one() }, (app) => app.set("trust proxy", true));
    expect((await send("/", from("203.0.113.1"))).status).toBe(500);
    const byKey = await serve({ limit: one(), keyGenerator: () => "all" }, (app) =>
      app.set("trust proxy", true),
    );
    expect((await byKey()).status).toBe(200);
  });

  it("hands what a store fails with to Express, or lets pass, as passOnStoreError says", async () => {
    const client = new Redis(1, "127.0.0.1", { retryStrategy: () => null, lazyConnect: true });
    client.on("error", () => {});
    const store = redisStore(client);
    const failing = await serve({ limit: 1, store, passOnStoreError: false });
    const passing = await serve({ limit: 1, store, passOnStoreError: true });
    expect((await failing()).status).toBe(503);
    expect([(await passing()).status, (await passing()).status]).toEqual([200, 200]);
    await store.close();
  });

  it("counts callers under each number that a function chooses apart, and any number of them", async () => {
    let limit = 1;
    const send = await serve({ limit: () => limit });
    for (limit = 1; limit <= 1_005; limit += 1) {
      expect((await send()).headers.get("x-ratelimit-remaining")).toBe(String(limit - 1));
    }
    limit = 1;
    // Its request handler was given up by now, and finds what was counted before.
    expect((await send()).status).toBe(429);
  });

  it("hands a number that is no limit to Express as an error", async () => {
    const send = await serve({ limit: () => -1 });
    expect((await send()).status).toBe(500);
  });

  it("asks no limit for a request that is skipped", async () => {
    const limit = vi.fn(() => 1);
    const send = await serve({ limit, skip: (request) => request.path === "/free" });
    expect((await send("/free")).status).toBe(200);
    expect(limit).not.toHaveBeenCalled();
    expect([(await send()).status, (await send()).status]).toEqual([200, 429]);
  });

  it("refuses to count by an invalid key", async () => {
    const send = await serve({ limit: 1, keyGenerator: () => undefined as unknown as string });
    expect((await send()).status).toBe(400);
  });

  it("hands an error of a handler or a message to Express", async () => {
    const fail = () => {
      throw new Error("broken");
    };
    const later = () => Promise.reject(new Error("broken"));
    for (const options of [{ handler: fail }, { handler: later }]) {
      const send = await serve({ limit: 0, ...options });
      expect((await send()).status).toBe(500);
    }
    // The status was set before the message was asked for, and Express keeps it.
    const send = await serve({ limit: 0, message: fail });
    expect(await (await send()).text()).toContain("broken");
  });

  it("counts a response if requestWasSuccessful throws, and calls onError", async () => {
    const onError = vi.fn();
    const requestWasSuccessful = () => {
      throw new Error("broken");
    };
    const options = { limit: 1, skipFailedRequests: true, requestWasSuccessful, onError };
    const send = await serve(options);
    expect((await send()).status).toBe(200);
    await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce(), 20_000);
    expect((await send()).status).toBe(429);
  });

  it("waits for a requestWasSuccessful that answers late", async () => {
    for (const [skip, isSuccess] of [
      ["skipFailedRequests", false],
      ["skipSuccessfulRequests", true],
    ] as const) {
      const requestWasSuccessful = vi.fn(async () => isSuccess);
      const send = await serve({ limit: 1, requestWasSuccessful, [skip]: true });
      for (let n = 1; n <= 3; n++) {
        expect((await send()).status).toBe(200);
        await vi.waitFor(() => expect(requestWasSuccessful).toHaveBeenCalledTimes(n), 20_000);
        await new Promise(setImmediate);
      }
    }
  });

  it("counts a response if requestWasSuccessful answers late that it counts, or rejects", async () => {
    for (const [skip, isSuccess] of [
      ["skipFailedRequests", true],
      ["skipSuccessfulRequests", false],
    ] as const) {
      for (const answer of [async () => isSuccess, () => Promise.reject(new Error("broken"))]) {
        const onError = vi.fn();
        const requestWasSuccessful = vi.fn<() => Promise<boolean>>(answer);
        const send = await serve({ limit: 1, requestWasSuccessful, onError, [skip]: true });
        expect((await send()).status).toBe(200);
        await vi.waitFor(() => expect(requestWasSuccessful).toHaveBeenCalledOnce(), 20_000);
        await new Promise(setImmediate);
        expect((await send()).status).toBe(429);
        expect(onError).toHaveBeenCalledTimes(answer.constructor === Function ? 1 : 0);
      }
    }
  });

  it("sends the true Retry-After if a function answers with none", async () => {
    for (const seconds of [Number.NaN, 0, -1, 1.5, "7\r\nx: y", 2 ** 40]) {
      const send = await serve({ limit: one(), retryAfter: () => seconds as number });
      await send();
      expect(Number((await send()).headers.get("retry-after"))).toBeGreaterThan(50);
    }
  });

  it("shows its policy, unless a function chooses among several", async () => {
    const limit = rateLimit({ limit: 1 });
    const app = express();
    app.use(limit);
    const send = await start(app);
    await limit.policy?.block("default", "ip:127.0.0.1", 60_000);
    expect((await send()).status).toBe(429);
    const policy = createPolicy({ rules: { version: 1, rules: [{ id: "all", limit: one() }] } });
    expect(rateLimit(policy).policy).toBe(policy);
    expect(rateLimit({ limit: () => 1 }).policy).toBeUndefined();
  });

  it("puts what was decided where requestPropertyName says", async () => {
    const app = express();
    app.use(rateLimit({ limit: 2, requestPropertyName: "quota" }));
    app.use((request: Request & { quota?: { remaining: number } }, response) => {
      response.json(request.quota?.remaining);
    });
    expect(await (await (await start(app))()).json()).toBe(1);
  });

  it("names limits of draft 8 by their numbers, as express-rate-limit does", async () => {
    for (const [options, policy] of [
      [{ limit: 1, windowMs: 5_000 }, '"1-in-5sec";q=1;w=5'],
      [{}, '"5-in-1min";q=5;w=60'],
      [{ limit: "6", windowMs: 7_200_000 }, '"6-in-2hrs";q=6;w=7200'],
      [{ limit: 7, windowMs: 86_400_000 }, '"7-in-1day";q=7;w=86400'],
      [{ limit: 7, identifier: "week" }, '"week";q=7;w=60'],
    ] as const) {
      const send = await serve({ ...options, standardHeaders: "draft-8" });
      expect((await send()).headers.get("ratelimit-policy")).toBe(policy);
    }
  });

  it("counts IPv6 callers by as many bits as ipv6Subnet says", async () => {
    const set = (app: Express) => app.set("trust proxy", "loopback");
    const send = await serve({ limit: 1, ipv6Subnet: 48 }, set);
    expect((await send("/", from("2001:db8:1:1::1"))).status).toBe(200);
    expect((await send("/", from("2001:db8:1:2::1"))).status).toBe(429);
    expect((await send("/", from("2001:db8:2:1::1"))).status).toBe(200);
  });
});

describe("options of rateLimit in Express that can't be", () => {
  const limit = tokenBucket({ capacity: 1, refillPerSecond: 1 });
  it.each<[object, string]>([
    [{ limit, windowMs: 1_000 }, "windowMs needs a limit that is a number"],
    [{ limit, key: "ip", keyGenerator: () => "a" }, "takes key or keyGenerator, not both"],
    [{ limit, headers: "draft-7", standardHeaders: false }, "takes headers or standardHeaders"],
    [{ limit, onStoreFailure: "open", passOnStoreError: false }, "passOnStoreError, not both"],
    [
      { limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true },
      "takes skipFailedRequests or skipSuccessfulRequests, not both",
    ],
    [{ limit, standardHeaders: "draft-9" }, "standardHeaders must be one of draft-6"],
    [{ limit: "five" }, 'limit must be a number, a function or a limit, got "five"'],
    [{ limit: " " }, 'limit must be a number, a function or a limit, got " "'],
    [{ limit: 1.5 }, "a limit must be a whole number from 0, got 1.5"],
    [{ limit: 1, windowMs: 0 }, "windowMs must be a whole number"],
    [{ limit, windowSize: 5 }, 'unknown option "windowSize"'],
    [{ limit: 5, keyGenerator: "ip" }, 'keyGenerator must be a function, got "ip"'],
    [{ limit: 5, skip: true }, "skip must be a function, got true"],
    [{ limit: 5, handler: {} }, "handler must be a function, got {}"],
    [{ limit: 5, requestWasSuccessful: 1 }, "requestWasSuccessful must be a function, got 1"],
    [{ limit, maxx: 5 }, 'unknown option "maxx", did you mean max? known: limit, key'],
    [{ limit: 1, logger: console }, "logger is express-rate-limit's; pass onError"],
    [{ limit: 1, statusCode: 200 }, "statusCode must be a whole number from 400 to 599, got 200"],
    [{ limit: 1, retryAfter: 0 }, "retryAfter must be a whole number from 1"],
    [
      { limit: 1, retryAfter: "7" },
      'retryAfter must be a whole number from 1 to 2147483648, got "7"',
    ],
    [
      { limit: 1, passOnStoreError: "false" },
      'passOnStoreError must be true or false, got "false"',
    ],
    [{ limit: 1, skipFailedRequests: 0 }, "skipFailedRequests must be true or false, got 0"],
    [{ limit: 1, skipSuccessfulRequests: {} }, "skipSuccessfulRequests must be true or false"],
    [{ limit: 1, requestPropertyName: 5 }, "requestPropertyName must be a non-empty string, got 5"],
    [
      { limit: 1, requestPropertyName: "" },
      'requestPropertyName must be a non-empty string, got ""',
    ],
  ])("%j", (options, message) => {
    expect(() => rateLimit(options as ExpressOptions)).toThrow(message);
  });

  it("a store of express-rate-limit", () => {
    const store = { increment: () => {}, decrement: () => {}, resetKey: () => {} };
    expect(() => rateLimit({ limit: 1, store: store as never })).toThrow("expressRateLimitStore");
  });

  it("anything but a policy or options", () => {
    const call = rateLimit as unknown as (...args: unknown[]) => unknown;
    expect(() => call(null)).toThrow("takes a policy and options, or options alone; got null");
    expect(() => call({ limit }, { headers: "none" })).toThrow("or options alone");
    expect(() => rateLimit({ limit, store: memoryStore() })).not.toThrow();
  });
});
