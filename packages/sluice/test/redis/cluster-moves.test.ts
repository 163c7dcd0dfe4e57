import { Cluster as IoredisCluster } from "ioredis";
import { createCluster } from "redis";
import { type Cluster, type RedisProcess, startCluster } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  createLimiter,
  type FailurePolicy,
  fixedWindow,
  type Limiter,
  resilient,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { callers, Load } from "./load.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const LIMIT = 100;
const RECOVERY_MS_MAX = 20_000;
const MOVES_MIN = 24;
const ROUNDS_MAX = 50;

let cluster: Cluster;
let ioredis: IoredisCluster;
let nodeRedis: ReturnType<typeof createCluster>;
const stores: RedisStore[] = [];
beforeAll(async () => {
  cluster = await startCluster();
  const addresses = cluster.nodes.map(({ host, port }) => ({ host, port }));
  ioredis = new IoredisCluster(addresses);
  ioredis.on("error", () => {});
  const rootNodes = addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
  nodeRedis = createCluster({ rootNodes });
  nodeRedis.on("error", () => {});
  await nodeRedis.connect();
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  ioredis.disconnect();
  nodeRedis.destroy();
  await cluster.stop();
});

const clients = {
  "an ioredis Cluster": () => ioredis,
  "a node-redis cluster": () => nodeRedis,
};

function limiterOver(
  client: IoredisCluster | ReturnType<typeof createCluster>,
  {
    name,
    onStoreFailure,
    timeoutMs,
  }: { name: string; onStoreFailure: FailurePolicy; timeoutMs: number },
): Limiter<false> {
  const store = redisStore(client);
  stores.push(store);
  return createLimiter({
    name,
    limit: fixedWindow({ limit: LIMIT, windowMs: longWindowMs() }),
    store: resilient(store, { timeoutMs }),
    onStoreFailure,
  });
}

async function decidesAgain(limiter: Limiter<false>, keys: readonly string[]): Promise<void> {
  const claim = async () => {
    const decisions = await Promise.all(keys.map((key) => limiter.check(key)));
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(["store"]));
  };
  await vi.waitFor(claim, { timeout: RECOVERY_MS_MAX, interval: 50 });
}

describe.each(Object.entries(clients))("slots that move under load, over %s", (title, client) => {
  it("no call fails, and each of 8 keys is admitted exactly 100 times", async () => {
    const limiter = limiterOver(client(), {
      name: title,
      onStoreFailure: "closed",
      timeoutMs: 30_000,
    });
    const keys = callers(8);
    await decidesAgain(limiter, callers(50, "caller"));
    const load = new Load({ limiter, keys, concurrency: 16, pauseMs: 15 });
    const isFull = () => keys.every((key) => load.admitted.get(key) === LIMIT);
    let moves = 0;
    for (let round = 0; round < ROUNDS_MAX && (moves < MOVES_MIN || !isFull()); round++) {
      for (const key of keys) {
        const slot = cluster.slotOf(`{${key}}`);
        const from = await cluster.ownerOf(slot);
        const others = (await cluster.primaries()).filter((node) => node !== from);
        await cluster.migrateSlot(slot, others[round % others.length] as RedisProcess);
        moves++;
      }
    }
    await load.runFor(RECOVERY_MS_MAX, isFull);
    await load.runFor(200);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(Object.keys(load.sources)).toEqual(["store"]);
    expect(Object.fromEntries(load.admitted)).toEqual(
      Object.fromEntries(keys.map((key) => [key, LIMIT])),
    );
    for (const node of await cluster.primaries()) expect(await eternalKeys(node)).toEqual([]);
  });

  it("a slot that stays half open is decided by the store, for keys that moved, stay and are new", async () => {
    const limiter = limiterOver(client(), {
      name: `${title} half open`,
      onStoreFailure: "closed",
      timeoutMs: 10_000,
    });
    const key = "user:half";
    await decidesAgain(limiter, [key]);
    const { remaining } = await limiter.peek(key);
    const slot = cluster.slotOf(`{${key}}`);
    const from = await cluster.ownerOf(slot);
    const to = (await cluster.primaries()).find((node) => node !== from) as RedisProcess;
    const migration = await cluster.openSlot(slot, to);
    const byStore = { source: "store", allowed: true };
    expect(await limiter.check(key)).toMatchObject({ ...byStore, remaining: remaining - 1 });
    await migration.moveKeys();
    expect(await limiter.check(key)).toMatchObject({ ...byStore, remaining: remaining - 2 });
    const newcomer = limiterOver(client(), {
      name: `${title} newcomer`,
      onStoreFailure: "closed",
      timeoutMs: 10_000,
    });
    expect(await newcomer.check(key)).toMatchObject({ ...byStore, remaining: LIMIT - 1 });
    await migration.finish();
    expect(await limiter.check(key)).toMatchObject({ ...byStore, remaining: remaining - 3 });
    expect(await newcomer.check(key)).toMatchObject({ ...byStore, remaining: LIMIT - 2 });
  });
});

describe("a primary that is killed (kill -9) under load", () => {
  it.each(Object.entries(clients))(
    "over %s: no rejection, one more limit at most, all recovers",
    async (title, client) => {
      const limiter = limiterOver(client(), {
        name: `${title} failover`,
        onStoreFailure: "local",
        timeoutMs: 200,
      });
      const keys = callers(6);
      await decidesAgain(limiter, keys);
      const slot = cluster.slotOf(`{${keys[0]}}`);
      const victim = await cluster.ownerOf(slot);
      const load = new Load({ limiter, keys, concurrency: 8, pauseMs: 2 });
      await load.runFor(RECOVERY_MS_MAX, () => load.admittedMax >= LIMIT - 1);
      await victim.kill();
      await cluster.failedOver(slot, victim);
      await decidesAgain(limiter, callers(50, "caller"));
      await load.runFor(300);
      await load.stop();
      expect(load.rejections).toEqual([]);
      expect(load.admittedMax).toBeLessThanOrEqual(LIMIT * 2);
      for (const node of await cluster.primaries()) expect(await eternalKeys(node)).toEqual([]);
      // The next failover needs its replica again.
      await victim.restart();
      const inSync = async () =>
        expect((await victim.info("replication")).master_link_status).toBe("up");
      await vi.waitFor(inSync, { timeout: RECOVERY_MS_MAX, interval: 50 });
    },
  );
});

describe("a primary that hangs under load", () => {
  it("over an ioredis Cluster: the node that took over decides within seconds", async () => {
    const care = { name: "hangs", onStoreFailure: "local", timeoutMs: 200 } as const;
    const limiter = limiterOver(ioredis, care);
    const keys = callers(6);
    await decidesAgain(limiter, keys);
    const slot = cluster.slotOf(`{${keys[0]}}`);
    const victim = await cluster.ownerOf(slot);
    const load = new Load({ limiter, keys, concurrency: 8, pauseMs: 2 });
    victim.pause();
    await cluster.failedOver(slot, victim);
    await decidesAgain(limiter, callers(50, "caller"));
    victim.resume();
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.slowestMs).toBeLessThan(200 + 2_000);
  });
});

describe("nodes that are only connecting yet", () => {
  it("are waited for: the first requests are all decided, after killed connections too", async () => {
    const store = redisStore(ioredis);
    stores.push(store);
    const limit = fixedWindow({ limit: LIMIT, windowMs: longWindowMs() });
    const limiter = createLimiter({ name: "first", limit, store, onStoreFailure: "throw" });
    const checkAll = () => callers(100).map((key) => limiter.check(key));
    expect(await Promise.all(checkAll())).toHaveLength(100);
    const kill = ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"];
    await Promise.all((await cluster.primaries()).map((node) => node.command(...kill)));
    // What notices the cut connections may fail: its reply could have been lost.
    await Promise.allSettled(checkAll());
    expect(await Promise.all(checkAll())).toHaveLength(100);
  });
});
