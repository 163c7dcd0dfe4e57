import { createClient } from "redis";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createLimiter, fixedWindow, resilient } from "../../src/index.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { storeConformance } from "../../src/testing/testing.js";
import { toTest } from "../conformance-test.js";
import { callers, Load } from "./load.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const LIMIT = 100;
const RECOVERY_MS_MAX = 15_000;
const skip = {
  "a requestId makes a request count once: with another key it is an error":
    "an id is recorded beside its counter, where another key of a Cluster can't see it",
};
const limit = fixedWindow({ limit: LIMIT, windowMs: longWindowMs() });
const counter = { scope: "default", part: 0, limit };

let server: RedisProcess;
let proxy: FaultProxy;
beforeAll(async () => {
  server = await startRedis();
  proxy = await startFaultProxy({ port: server.port });
});
afterAll(async () => {
  proxy.close();
  await server.stop();
});

async function connect(port: number) {
  const client = createClient({ socket: { host: server.host, port } });
  client.on("error", () => {});
  return client.connect();
}

describe("a store over node-redis keeps the contract", () => {
  let client: Awaited<ReturnType<typeof connect>>;
  let count = 0;
  beforeAll(async () => {
    client = await connect(server.port);
  });
  afterAll(() => client.destroy());

  const cases = storeConformance({
    createStore: (clock) => redisStore(client, { clock, prefix: `case-${count++}` }),
    skip,
    traces: 20,
  });
  for (const each of cases) it(each.name, toTest(each));
});

describe("a node-redis client", () => {
  it("that is not connected yet is an error that says what to do, and no hung promise", async () => {
    const client = createClient({ socket: { host: server.host, port: server.port } });
    const store = redisStore(client);
    const limiter = createLimiter({ limit, store, onStoreFailure: "throw" });
    await expect(Promise.resolve(limiter.check("user:1"))).rejects.toThrow(/connect\(\)/);
    await store.close();
  });

  it("whose connections are cut under load: no rejection, no key past its limit, all recovers", async () => {
    const client = await connect(proxy.port);
    const store = resilient(redisStore(client), { timeoutMs: 200, breaker: { openMs: 20 } });
    const limiter = createLimiter({ limit, name: "cut", store, onStoreFailure: "local" });
    const load = new Load({ limiter, keys: callers(10), concurrency: 16 });
    for (let cuts = 0; cuts < 10; cuts++) {
      const before = load.sources.store ?? 0;
      await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before);
      proxy.cut("reset");
    }
    const isBack = async () =>
      expect(await limiter.check("caller:new")).toMatchObject({ source: "store" });
    await vi.waitFor(isBack, { timeout: RECOVERY_MS_MAX, interval: 50 });
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(load.admittedMax).toBeLessThanOrEqual(LIMIT);
    expect(await eternalKeys(server)).toEqual([]);
    await store.close();
    client.destroy();
  });

  it("whose replies are lost: never sends again without a requestId, and charges once with one", async () => {
    const client = await connect(proxy.port);
    const store = redisStore(client);
    const limiter = createLimiter({ limit, store, onStoreFailure: "throw" });
    await limiter.check("caller:known", { requestId: "the script is known" });
    await limiter.check("caller:known");
    proxy.dropReplies({ count: 1 });
    await expect(Promise.resolve(limiter.check("user:2"))).rejects.toMatchObject({
      code: "SLUICE_STORE_UNAVAILABLE",
    });
    await vi.waitFor(() => limiter.check("caller:known"), { timeout: RECOVERY_MS_MAX });
    expect(await usedOf("user:2")).toBe(1);
    proxy.dropReplies({ count: 1 });
    expect(await limiter.check("user:3", { requestId: "request-1" })).toMatchObject({
      allowed: true,
      source: "store",
    });
    expect(await usedOf("user:3")).toBe(1);
    await store.close();
    client.destroy();

    async function usedOf(key: string): Promise<number> {
      const [verdict] = await store.peek([{ counter, key, cost: 0, nowMs: 0 }]);
      return LIMIT - (verdict?.remaining ?? 0);
    }
  });
});
