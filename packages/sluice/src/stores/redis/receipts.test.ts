import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { asAnotherProcess } from "../../testing/another-process.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { redisStore } from "./redis-store.js";

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

describe("receipts that are never settled", () => {
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
    // Few at a time: one call for all would keep a busy server silent for longer than the client waits.
    for (let n = 0; n < 100; n++) {
      await Promise.all(Array.from({ length: 10 }, () => limiter.reserve("key")));
    }
    const last = await limiter.reserve("key");
    await first.cancel();
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2_000 - 1_002 });
    await last.cancel();
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2_000 - 1_001 });
    await store.close();
  });
});

let count = 0;
function setUp() {
  const clock = new ManualClock(Date.UTC(2026, 0, 15, 12, 30));
  const prefix = `receipts-${count++}`;
  const store = redisStore(client, { clock, prefix });
  const of = (limit: Limit | readonly Limit[]) =>
    createLimiter({ limit, store: asAnotherProcess(store), clock, onStoreFailure: "throw" });
  return { clock, prefix, store, of };
}

const HOUR_MS = 3_600_000;
const kinds: Readonly<Record<string, (units: number) => Limit>> = {
  "fixed window": (units) => fixedWindow({ limit: units, windowMs: HOUR_MS }),
  "sliding counter": (units) => slidingWindowCounter({ limit: units, windowMs: HOUR_MS }),
  "sliding log": (units) => slidingWindowLog({ limit: units, windowMs: HOUR_MS }),
  quota: (units) => quota({ limit: units, period: "month" }),
  "token bucket": (units) =>
    tokenBucket({ capacity: units, refill: { amount: 1, everyMs: HOUR_MS } }),
};

describe("receipts", () => {
  it("are kept of a permit alone, not of what its request pays besides", async () => {
    const { of, prefix } = setUp();
    const limiter = of([
      concurrency({ limit: 5, permitMs: HOUR_MS }),
      ...Object.values(kinds).map((make) => make(100)),
    ]);
    for (let n = 0; n < 20; n++) await (await limiter.acquire("key")).release();
    expect(await client.keys(`${prefix}:*:open`)).toEqual([]);
    expect(await limiter.peek("key")).toMatchObject({ allowed: true, remaining: 80 });
  });

  it.each(Object.entries(kinds))(
    "settled by a server with the old numbers leave what the new ones counted (%s)",
    async (_, make) => {
      const { of } = setUp();
      const [old, fresh] = [of(make(100)), of(make(10_000))];
      const [kept, cancelled, more] = [
        await old.reserve("key", { cost: 10 }),
        await old.reserve("key", { cost: 10 }),
        await old.reserve("key", { cost: 10 }),
      ];
      await fresh.check("key", { cost: 9_000 });
      await kept.commit(10);
      await cancelled.cancel();
      await more.commit(12);
      const { remaining } = await fresh.peek("key");
      // 9,000 and 10 and 12, and 10 more if a cancel brings nothing under other numbers.
      expect([968, 978]).toContain(remaining);
    },
  );

  it("of an id that was used under another kind of limit are an error, and shift no other answer", async () => {
    const { of } = setUp();
    const bucket = of(tokenBucket({ capacity: 1, refill: { amount: 1, everyMs: HOUR_MS } }));
    await of(leakyBucket({ ratePerSecond: 1, queueSize: 9 })).check("key", { requestId: "x" });
    await bucket.check("other");
    const [again, exhausted] = await Promise.allSettled([
      bucket.check("key", { requestId: "x" }),
      bucket.check("other", { requestId: "y" }),
    ]);
    expect(again).toMatchObject({ reason: { code: "SLUICE_REQUEST_ID_REUSED" } });
    expect(exhausted).toMatchObject({ value: { allowed: false, remaining: 0 } });
  });

  it("held briefly under one id are refunded each time it was admitted", async () => {
    const { clock, store } = setUp();
    const counter = { scope: "s", part: 0, limit: kinds["fixed window"](100) };
    const charge = { counter, key: "key", cost: 20, nowMs: 0 };
    for (let round = 0; round < 3; round++) {
      const { receipts } = await store.decide([charge], { hold: "briefly", requestId: "id" });
      const settling = { receipt: receipts[0], kept: 0, nowMs: 0 };
      await store.settle([settling]);
      await store.settle([settling]);
      clock.advance(1);
    }
    expect(await store.peek([{ ...charge, cost: 0 }])).toMatchObject([{ remaining: 100 }]);
  });
});

describe("a counter", () => {
  it("that was blocked without an end lives no longer than it counts, once unblocked", async () => {
    const store = redisStore(client, { prefix: "unblocked" });
    const limit = fixedWindow({ limit: 10, windowMs: 60_000 });
    const limiter = createLimiter({ limit, store, onStoreFailure: "throw" });
    await limiter.check("key");
    await limiter.block("key", Number.POSITIVE_INFINITY);
    await limiter.check("key");
    await limiter.unblock("key");
    expect(await client.pttl("unblocked:{key}:default")).toBeLessThanOrEqual(60_200);
    await store.close();
  });

  it("keeps what a larger limit counts, when servers with the smaller one look at it", async () => {
    const { of } = setUp();
    const [old, fresh] = [of(kinds["fixed window"](100)), of(kinds["fixed window"](10_000))];
    await fresh.check("key", { cost: 9_000 });
    expect(await old.check("key")).toMatchObject({ allowed: false, remaining: 0 });
    await old.peek("key");
    expect(await fresh.check("key", { cost: 1_001 })).toMatchObject({
      allowed: false,
      remaining: 1_000,
    });
  });
});
