import { Redis } from "ioredis";
import { createClient } from "redis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLimiter, fixedWindow, type Limiter } from "../../src/index.js";
import { type RedisClient, redisStore } from "../../src/stores/redis/redis.js";
import { keysOf, longWindowMs } from "./servers.js";

const limit = fixedWindow({ limit: 100, windowMs: longWindowMs() });
let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.command("FLUSHALL"));

/** Uses every way to the server: checks, ids, receipts, blocks. */
async function expectWorks(limiter: Limiter<false>): Promise<void> {
  expect(await limiter.check("user:1")).toMatchObject({ allowed: true, remaining: 99 });
  const once = { requestId: "request-1" };
  expect(await limiter.check("user:1", once)).toMatchObject({ allowed: true, remaining: 98 });
  expect(await limiter.check("user:1", once)).toMatchObject({ allowed: true, remaining: 98 });
  await (await limiter.reserve("user:1", { cost: 10, requestId: "request-2" })).commit(3);
  expect(await limiter.peek("user:1")).toMatchObject({ remaining: 95 });
  await limiter.refund("user:1", 2);
  expect(await limiter.peek("user:1")).toMatchObject({ remaining: 97 });
  await limiter.block("user:1", 60_000);
  expect((await limiter.check("user:1")).allowed).toBe(false);
  await limiter.unblock("user:1");
  await limiter.reset("user:1");
  expect(await limiter.check("user:1")).toMatchObject({ allowed: true, remaining: 99 });
}

async function withStore(client: RedisClient): Promise<void> {
  const store = redisStore(client);
  await expectWorks(createLimiter({ limit, store, onStoreFailure: "throw" }));
  await store.close();
}

describe("a client that its user has set up in another way", () => {
  const ways = {
    "a keyPrefix": { keyPrefix: "app:" },
    "another database": { db: 3 },
    "a lazy connection": { lazyConnect: true },
    "no ready check": { enableReadyCheck: false },
    "no offline queue": { enableOfflineQueue: false },
    "automatic pipelining": { enableAutoPipelining: true },
    "a command timeout": { commandTimeout: 10_000 },
    stringNumbers: { stringNumbers: true },
  };

  it.each(Object.entries(ways))("ioredis with %s decides the same", async (_, options) => {
    const client = new Redis({ host: server.host, port: server.port, ...options });
    await withStore(client);
    client.disconnect();
  });

  it("ioredis with a keyPrefix has it before all of its keys", async () => {
    const client = new Redis({ host: server.host, port: server.port, keyPrefix: "app:" });
    await withStore(client);
    const keys = await keysOf(server);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !key.startsWith("app:sluice:{user:1}:default"))).toEqual([]);
    client.disconnect();
  });

  it.each([2, 3] as const)("node-redis with RESP%i decides the same", async (RESP) => {
    const client = createClient({ socket: { host: server.host, port: server.port }, RESP });
    await client.connect();
    await withStore(client as RedisClient);
    client.destroy();
  });

  it("is as usable after the store was closed as before", async () => {
    const client = new Redis(server.port, server.host);
    await withStore(client);
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
  });
});

describe("an outage", () => {
  it("leaves no more listeners on a client the longer it lasts", async () => {
    const { host, port } = server;
    // An ioredis client that sends nothing twice by itself is used as it is.
    const ioredis = new Redis({
      ...{ host, port, enableOfflineQueue: false, autoResendUnfulfilledCommands: false },
      maxRetriesPerRequest: 0,
    }).on("error", () => {});
    const nodeRedis = createClient({ socket: { host, port } });
    await nodeRedis.on("error", () => {}).connect();
    const stores = [redisStore(ioredis), redisStore(nodeRedis as RedisClient)];
    const limiters = stores.map((store) =>
      createLimiter({ limit, store, onStoreFailure: "throw" }),
    );
    const checkAll = () => limiters.map(async (limiter) => limiter.check("user:1"));
    await Promise.all(checkAll());
    await server.kill();
    const failures = async () => {
      const answers = await Promise.allSettled(checkAll());
      expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      const listeners = (client: Redis | typeof nodeRedis) =>
        client.listenerCount("ready") + client.listenerCount("end");
      return [listeners(ioredis), listeners(nodeRedis)];
    };
    // The first may fail for the cut connection, the next ones do because there is none.
    await failures();
    const soon = await failures();
    for (let i = 0; i < 10; i++) await failures();
    const [ofIoredis, ofNodeRedis] = await failures();
    // A client has one more of its own for a moment; one left by each failure would be ten.
    expect(ofIoredis).toBeLessThan(soon[0] + 5);
    expect(ofNodeRedis).toBeLessThan(soon[1] + 5);
    ioredis.disconnect();
    nodeRedis.destroy();
  });
});
