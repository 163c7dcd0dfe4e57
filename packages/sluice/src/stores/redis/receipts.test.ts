import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLimiter } from "../../limiter.js";
import { concurrency, tokenBucket } from "../../limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { redisStore } from "./store.js";

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

describe("receipts that nobody settles", () => {
  it("of permits are bounded in number, and those of the living are kept", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const store = redisStore(client, { clock, prefix: "permits" });
    const limit = concurrency({ limit: 2, permitMs: 10 });
    const limiter = createLimiter({ limit, store, clock, onStoreFailure: "throw" });
    for (let n = 0; n < 1_500; n++) {
      expect(await limiter.acquire("key")).toMatchObject({ allowed: true });
      clock.advance(10);
    }
    expect(await client.hlen("permits:{key}:default:open")).toBeLessThanOrEqual(1_000);
    const permit = await limiter.acquire("key", { cost: 2 });
    await permit.release();
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2 });
    await store.close();
  });

  it("of a bucket are bounded in number, and the oldest bring nothing", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const store = redisStore(client, { clock, prefix: "bucket" });
    const limit = tokenBucket({ capacity: 2_000, refill: { amount: 1, everyMs: 86_400_000 } });
    const limiter = createLimiter({ limit, store, clock, onStoreFailure: "throw" });
    const first = await limiter.reserve("key");
    for (let n = 0; n < 20; n++) {
      await Promise.all(Array.from({ length: 50 }, () => limiter.reserve("key")));
    }
    const last = await limiter.reserve("key");
    await first.cancel();
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2_000 - 1_002 });
    await last.cancel();
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2_000 - 1_001 });
    await store.close();
  });
});
