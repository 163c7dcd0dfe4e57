import { Redis } from "ioredis";
import { type RedisProcess, type SentinelGroup, startSentinelGroup } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createLimiter,
  type FailurePolicy,
  fixedWindow,
  type Limiter,
  resilient,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { callers, Load } from "./load.js";
import { eternalKeys, keysOf, longWindowMs } from "./servers.js";

const LIMIT = 100;
/** From the new primary's first word until the store decides again. */
const RECOVERY_MS_MAX = 15_000;
const TIMEOUT_MS = 200;

let group: SentinelGroup;
let client: Redis;
let store: RedisStore;
beforeEach(async () => {
  group = await startSentinelGroup();
  client = new Redis({
    sentinels: group.sentinels.map(({ host, port }) => ({ host, port })),
    name: group.masterName,
  }).on("error", () => {});
  store = redisStore(client);
});
afterEach(async () => {
  await store.close();
  client.disconnect();
  await group.stop();
});

function limiterWith(onStoreFailure: FailurePolicy, timeoutMs = TIMEOUT_MS): Limiter<false> {
  return createLimiter({
    limit: fixedWindow({ limit: LIMIT, windowMs: longWindowMs() }),
    store: resilient(store, { timeoutMs }),
    onStoreFailure,
  });
}

function eventually(claim: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(claim, { timeout: RECOVERY_MS_MAX, interval: 50 });
}

async function decidesAgain(limiter: Limiter<false>): Promise<void> {
  await eventually(async () => {
    expect(await limiter.check("caller:new")).toMatchObject({ source: "store" });
  });
}

describe("a failover under load", () => {
  it("by kill -9 of the primary: no rejection, one more limit at most, the new one decides", async () => {
    const limiter = limiterWith("local");
    await decidesAgain(limiter);
    const before = await group.primary();
    const load = new Load({ limiter, keys: callers(5), concurrency: 8, pauseMs: 1 });
    await eventually(() => expect(load.admittedMax).toBe(LIMIT));
    await before.kill();
    const after = await group.failedOver(before);
    await decidesAgain(limiter);
    await load.runFor(300);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.sources.fallback).toBeGreaterThan(0);
    expect(load.admittedMax).toBeLessThanOrEqual(LIMIT * 2);
    expect(await eternalKeys(after)).toEqual([]);

    // What was the primary comes back as a replica: no client is led to it again.
    await before.restart();
    await eventually(async () => expect((await before.info("replication")).role).toBe("slave"));
    await decidesAgain(limiter);
  });

  it("to a primary that hangs instead of dying: the new one decides within seconds", async () => {
    const limiter = limiterWith("closed");
    await decidesAgain(limiter);
    const before = await group.primary();
    const load = new Load({ limiter, keys: callers(5), concurrency: 8, pauseMs: 1 });
    before.pause();
    await group.failedOver(before);
    await decidesAgain(limiter);
    before.resume();
    await load.runFor(500);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.slowestMs).toBeLessThan(TIMEOUT_MS + 2_000);
    await decidesAgain(limiter);
  });
});

describe("a primary that became a replica while its connections stay", () => {
  it("READONLY is no answer: the new primary is found inside the deadline", async () => {
    const limiter = limiterWith("closed", 20_000);
    await decidesAgain(limiter);
    const before = await group.primary();
    const after = group.servers.find((server) => server !== before) as RedisProcess;
    await after.command("REPLICAOF", "NO", "ONE");
    await before.command("REPLICAOF", after.host, after.port);
    for (const sentinel of group.sentinels) {
      await sentinel.command("SENTINEL", "REMOVE", group.masterName);
      await sentinel.command("SENTINEL", "MONITOR", group.masterName, after.host, after.port, 2);
    }
    const decisions = await Promise.all(callers(20).map((key) => limiter.check(key)));
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(["store"]));
    expect(await keysOf(after)).toContain("sluice:{user:19}:default");
  });
});
