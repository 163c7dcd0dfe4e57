import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Charge, fixedWindow, tokenBucket } from "../../src/index.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { ManualClock } from "../../src/testing/testing.js";
import { eternalKeys, longWindowMs } from "./servers.js";

let server: RedisProcess;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

describe("a charge that is refunded", () => {
  it("counts once, however often it is presented, if it was held briefly too", async () => {
    const store = redisStore(client);
    const counter = {
      scope: "brief",
      part: 0,
      limit: fixedWindow({ limit: 10, windowMs: longWindowMs() }),
    };
    const one: Charge = { counter, key: "user:1", cost: 1, nowMs: 0 };
    await store.decide([one]);
    await store.decide([one]);
    const { receipts } = await store.decide([one], { hold: "briefly" });
    const settlings = receipts.map((receipt) => ({ receipt, kept: 0, nowMs: 0 }));
    await store.settle(settlings);
    await store.settle(settlings);
    expect((await store.peek([one]))[0]?.remaining).toBe(8);
    expect(await eternalKeys(server)).toEqual([]);
    await store.close();
  });

  it("brings no more than the first time if its requestId was answered again later", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const store = redisStore(client, { clock });
    const counter = {
      scope: "replayed",
      part: 0,
      limit: tokenBucket({ capacity: 10, refillPerSecond: 1 }),
    };
    const charge = (cost: number): Charge => ({ counter, key: "user:1", cost, nowMs: 0 });
    const how = { requestId: "request-1", hold: "briefly" } as const;
    await store.decide([charge(1)], how);
    clock.advance(5_000);
    await store.decide([charge(3)]);
    const { receipts } = await store.decide([charge(1)], how);
    await store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: 0 })));
    expect((await store.peek([charge(0)]))[0]?.remaining).toBe(7);
    await store.close();
  });
});
