import type { AddressInfo } from "node:net";
import express from "express";
import { type Options, rateLimit } from "express-rate-limit";
import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { redisStore } from "../../../stores/redis/redis-store.js";
import type { Store } from "../../../stores/store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { expressRateLimitStore } from "./store.js";

const WINDOW_MS = 60_000;
let redis: RedisProcess;
let client: Redis;
const closing: (() => Promise<unknown> | unknown)[] = [];
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.port, redis.host);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

/** A server limited by express-rate-limit itself; returns a function that sends a request. */
async function serve(options: Partial<Options>): Promise<(path?: string) => Promise<Response>> {
  const app = express();
  app.use(rateLimit({ windowMs: WINDOW_MS, keyGenerator: () => "client", ...options }));
  app.get("/", (_req, res) => void res.send("hello"));
  app.get("/broken", (_req, res) => void res.status(500).send("no"));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return (path = "/") =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } });
}

const kinds: [string, (clock: ManualClock) => Store][] = [
  ["memory", () => memoryStore()],
  ["redis", (clock) => redisStore(client, { clock, prefix: `erl${Math.trunc(clock.now())}` })],
];

describe.each(kinds)("express-rate-limit over %s", (kind, makeStore) => {
  // Ahead of the real time, by which express-rate-limit sees whether a window is over.
  const startMs = Date.UTC(2090, 0, 1) + (kind === "redis" ? 1 : 0);
  let runs = 0;
  function setUp() {
    const clock = new ManualClock(startMs + 7 * ++runs);
    const store = makeStore(clock);
    closing.push(() => store.close());
    return { clock, hits: expressRateLimitStore({ store, clock }) };
  }

  it("admits as many as the limit says, and as many again in the next window", async () => {
    const { clock, hits } = setUp();
    const send = await serve({ limit: 2, store: hits, standardHeaders: "draft-6" });
    const answers = [await send(), await send(), await send()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get("ratelimit-remaining"))).toEqual([
      "1",
      "0",
      "0",
    ]);
    clock.advance(WINDOW_MS);
    expect((await send()).status).toBe(200);
  });

  it("counts hits beyond the limit, as its middleware expects", async () => {
    const { hits } = setUp();
    hits.init({ windowMs: WINDOW_MS, limit: 1 });
    for (const totalHits of [1, 2, 3]) {
      expect(await hits.increment("client")).toMatchObject({ totalHits });
    }
    expect(await hits.get("client")).toMatchObject({ totalHits: 3 });
  });

  it("says when the window ends, and starts the next at exactly that instant", async () => {
    const { clock, hits } = setUp();
    hits.init({ windowMs: WINDOW_MS, limit: 10 });
    const { resetTime } = await hits.increment("client");
    const endMs = (resetTime as Date).getTime();
    expect(endMs).toBeGreaterThan(clock.now());
    expect(endMs).toBeLessThanOrEqual(clock.now() + WINDOW_MS);
    clock.set(endMs - 1);
    expect(await hits.increment("client")).toMatchObject({ totalHits: 2 });
    clock.set(endMs);
    expect(await hits.get("client")).toBeUndefined();
    expect(await hits.increment("client")).toMatchObject({ totalHits: 1 });
  });

  it("starts the window of a key with its first hit", async () => {
    const { clock, hits } = setUp();
    hits.init({ windowMs: WINDOW_MS, limit: 10 });
    for (const key of ["one", "two"]) {
      const { resetTime } = await hits.increment(key);
      expect(resetTime?.getTime()).toBe(clock.now() + WINDOW_MS);
      clock.advance(1_234);
    }
  });

  it("takes numbers as keys", async () => {
    const { hits } = setUp();
    hits.init({ windowMs: WINDOW_MS, limit: 10 });
    await hits.increment(42 as never);
    expect(await hits.get("42")).toMatchObject({ totalHits: 1 });
  });

  it("takes back the hits of requests that are not to be counted", async () => {
    const { hits } = setUp();
    const send = await serve({ limit: 2, store: hits, skipFailedRequests: true });
    for (let n = 0; n < 4; n++) {
      expect((await send("/broken")).status).toBe(500);
      await vi.waitFor(async () => expect(await hits.get("client")).toBeUndefined(), 20_000);
    }
    expect((await send()).status).toBe(200);
    expect(await hits.get("client")).toMatchObject({ totalHits: 1 });
  });

  it("forgets one key and no other", async () => {
    const { hits } = setUp();
    hits.init({ windowMs: WINDOW_MS, limit: 10 });
    await hits.increment("one");
    await hits.increment("two");
    await hits.resetKey("one");
    expect(await hits.get("one")).toBeUndefined();
    expect(await hits.get("two")).toMatchObject({ totalHits: 1 });
  });

  it("counts up to a limit that is a function", async () => {
    const { hits } = setUp();
    const send = await serve({ limit: () => 3, store: hits });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await send()).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it("keeps apart what two limiters of different names count", async () => {
    const clock = new ManualClock(startMs + 1_000);
    const store = makeStore(clock);
    closing.push(() => store.close());
    const [a, b] = ["a", "b"].map((name) => expressRateLimitStore({ store, clock, name }));
    a.init({ windowMs: WINDOW_MS, limit: 10 });
    b.init({ windowMs: WINDOW_MS, limit: 10 });
    await a.increment("client");
    expect(await b.increment("client")).toMatchObject({ totalHits: 1 });
  });
});

describe("a store for express-rate-limit", () => {
  it("rejects while Redis is unavailable, so that passOnStoreError decides", async () => {
    const gone = new Redis(1, "127.0.0.1", { retryStrategy: () => null, lazyConnect: true });
    gone.on("error", () => {});
    const store = redisStore(gone);
    closing.push(() => store.close());
    const logger = { error: vi.fn(), warn: vi.fn() };
    const send = await serve({
      store: expressRateLimitStore({ store }),
      passOnStoreError: true,
      logger,
    });
    expect((await send()).status).toBe(200);
    expect(logger.error).toHaveBeenCalled();
    const sendClosed = await serve({
      store: expressRateLimitStore({ store, name: "closed" }),
      passOnStoreError: false,
    });
    expect((await sendClosed()).status).toBe(503);
  });

  it("has counters that no other code can count into only if it made them", () => {
    expect(expressRateLimitStore().localKeys).toBe(true);
    expect(expressRateLimitStore({ store: memoryStore() }).localKeys).toBe(false);
    expect(expressRateLimitStore({ name: "login" }).prefix).toBe("login");
  });

  it("refuses what can't work, and says what it saw", () => {
    const make = (options: object) => () => expressRateLimitStore(options);
    expect(make({ store: { incr: 1 } })).toThrow(
      "store must be a store such as memoryStore(), got",
    );
    expect(make({ nmae: "x" })).toThrow('unknown option "nmae"');
    expect(make({ name: "" })).toThrow("name must be a non-empty string");
    const hits = expressRateLimitStore();
    expect(() => hits.increment("client")).toThrow("init was not called");
    hits.init({ windowMs: 1_000, limit: 1 });
    expect(() => hits.init({ windowMs: 2_000, limit: 1 })).toThrow("one store serves one");
    expect(() => hits.increment("")).toThrow("keyGenerator returned");
  });

  it("closes the store that it made, and leaves alone the one that it was given", async () => {
    const store = memoryStore();
    const given = expressRateLimitStore({ store });
    const own = expressRateLimitStore();
    for (const hits of [given, own]) hits.init({ windowMs: 1_000, limit: 1 });
    await given.shutdown();
    await own.shutdown();
    expect(() => given.increment("client")).not.toThrow();
    expect(() => own.increment("client")).toThrow("closed");
  });
});
