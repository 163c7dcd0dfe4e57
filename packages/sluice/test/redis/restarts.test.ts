import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createLimiter,
  type FallbackEvent,
  fixedWindow,
  type Limiter,
  type LimiterOptions,
  resilient,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { callers, Load } from "./load.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const LIMIT = 100;
const RECOVERY_MS_MAX = 10_000;
const policies = ["open", "closed", "local"] as const;

let server: RedisProcess;
let client: Redis;
let store: RedisStore;
beforeEach(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host).on("error", () => {});
  store = redisStore(client);
});
afterEach(async () => {
  await store.close();
  client.disconnect();
  await server.stop();
});

function limiterWith(options: Partial<LimiterOptions>): Limiter<false> {
  const limit = fixedWindow({ limit: LIMIT, windowMs: longWindowMs() });
  return createLimiter({ name: "default", limit, store, ...options } as LimiterOptions);
}

/** Waits until the store decides again; then nothing may be left that never expires. */
async function recovers(limiter: Limiter<false>): Promise<void> {
  const isBack = async () => {
    expect(await limiter.check("caller:new")).toMatchObject({ allowed: true, source: "store" });
  };
  await vi.waitFor(isBack, { timeout: RECOVERY_MS_MAX, interval: 50 });
  expect(await eternalKeys(server)).toEqual([]);
}

describe("SCRIPT FLUSH every few milliseconds under load", () => {
  it("is not noticed: each of 10 keys is admitted exactly 100 times, by the store alone", async () => {
    const limiter = limiterWith({ onStoreFailure: "closed", timeoutMs: 20_000 });
    const keys = callers(10);
    const load = new Load({ limiter, keys, concurrency: 32 });
    for (let flushes = 0; flushes < 100; flushes++) {
      await server.command("SCRIPT", "FLUSH");
      await sleep(3);
    }
    const isFull = () => keys.every((key) => load.admitted.get(key) === LIMIT);
    await load.runFor(RECOVERY_MS_MAX, isFull);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(Object.keys(load.sources)).toEqual(["store"]);
    expect(Object.fromEntries(load.admitted)).toEqual(
      Object.fromEntries(keys.map((key) => [key, LIMIT])),
    );
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe.each(policies)("with onStoreFailure %s", (onStoreFailure) => {
  it("connections killed under load: nothing rejects, no key passes its limit, all recovers", async () => {
    // The breaker closes soon again, so that the store is busy at nearly every kill.
    const care = { timeoutMs: 200, breaker: { openMs: 5 } };
    const limiter = limiterWith({ store: resilient(store, care), onStoreFailure });
    const load = new Load({ limiter, keys: callers(20), concurrency: 16 });
    const random = new SeededRandom(`kills ${onStoreFailure}`);
    let killed = 0;
    for (let kills = 0; kills < 40; kills++) {
      const before = load.sources.store ?? 0;
      await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before);
      await sleep(random.between(0, 20));
      // Not the connection that asks for it.
      killed += Number(await server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
    }
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(killed).toBeGreaterThan(20);
    expect(load.admittedMax).toBeLessThanOrEqual(LIMIT);
    await recovers(limiter);
  });

  it("restarts without persistence under load: one more limit for each, and all recovers", async () => {
    const restarts = 3;
    const limiter = limiterWith({ onStoreFailure, timeoutMs: 200 });
    const load = new Load({ limiter, keys: callers(5), concurrency: 16 });
    for (let i = 0; i < restarts; i++) {
      const before = load.sources.store ?? 0;
      await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before + 600);
      await server.restart();
    }
    await recovers(limiter);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.admittedMax).toBeGreaterThan(LIMIT);
    expect(load.admittedMax).toBeLessThanOrEqual(LIMIT * (1 + restarts));
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("restarts of a server that writes everything to disk first", () => {
  it("by kill -9 under load: no key is admitted more than its limit in all", async () => {
    const lasting = await startRedis({ args: { appendonly: "yes", appendfsync: "always" } });
    const own = new Redis(lasting.port, lasting.host).on("error", () => {});
    const lastingStore = redisStore(own);
    const care = { timeoutMs: 200, breaker: { openMs: 20 } };
    const limiter = limiterWith({
      store: resilient(lastingStore, care),
      onStoreFailure: "closed",
    });
    const load = new Load({ limiter, keys: callers(5), concurrency: 4, pauseMs: 2 });
    for (let i = 0; i < 3; i++) {
      const before = load.sources.store ?? 0;
      await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before + 100);
      await lasting.kill();
      await lasting.restart();
    }
    const before = load.sources.store ?? 0;
    await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before + 1_000);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.sources.store).toBeGreaterThan(before + 1_000);
    expect(load.admittedMax).toBeLessThanOrEqual(LIMIT);
    expect(await eternalKeys(lasting)).toEqual([]);
    await lastingStore.close();
    own.disconnect();
    await lasting.stop();
  });
});

describe("a server that dies and comes back", () => {
  it("is reported: once when the circuit breaker opens, with the reason, and once when it decides again", async () => {
    const events: FallbackEvent[] = [];
    const guarded = resilient(store, {
      timeoutMs: 200,
      breaker: { openMs: 20 },
      onEvent: (event) => events.push(event),
    });
    const limiter = limiterWith({ store: guarded, onStoreFailure: "closed" });
    await recovers(limiter);
    await server.kill();
    const load = new Load({ limiter, keys: ["user:1"], concurrency: 4, pauseMs: 1 });
    await load.runFor(RECOVERY_MS_MAX, () => events.length > 0);
    await server.restart();
    await load.runFor(RECOVERY_MS_MAX, () => events.length > 1);
    await load.stop();
    expect(events.map(({ kind }) => kind)).toEqual(["entered", "left"]);
    expect(events[0]?.reason).toMatch(/connection/);
    expect(guarded.stats.state).toBe("closed");
  });
});
