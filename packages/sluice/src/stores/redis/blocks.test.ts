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
import { type RedisStore, redisStore } from "./redis-store.js";

const HOUR_MS = 3_600_000;
const singles: Readonly<Record<string, Limit>> = {
  "token bucket": tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: HOUR_MS } }),
  "token bucket of whole milliseconds": tokenBucket({
    capacity: 10,
    refill: { amount: 1, everyMs: 5_000 },
  }),
  "leaky bucket": leakyBucket({ ratePerSecond: 1 / 3600, queueSize: 9, mode: "meter" }),
  "fixed window": fixedWindow({ limit: 10, windowMs: HOUR_MS }),
  "sliding counter": slidingWindowCounter({ limit: 10, windowMs: HOUR_MS }),
  quota: quota({ limit: 10, period: "month" }),
};
const lists: Readonly<Record<string, Limit>> = {
  log: slidingWindowLog({ limit: 10, windowMs: HOUR_MS }),
};

let server: RedisProcess;
let client: Redis;
let count = 0;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function setUp(limit: Limit | readonly Limit[]) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 12, 30));
  const prefix = `blocks-${count++}`;
  const store: RedisStore = redisStore(client, { clock, prefix });
  const limiter = createLimiter({ limit, store, clock, onStoreFailure: "throw" });
  const ttls = async () => {
    const keys = await client.keys(`${prefix}:*`);
    return Promise.all(keys.map((key) => client.pttl(key)));
  };
  return { clock, limiter, store, ttls };
}

describe.each(Object.entries({ ...singles, ...lists }))("a block over a %s", (_, limit) => {
  it("keeps what was used, through every verb, and restores it at its end", async () => {
    const { clock, limiter } = setUp(limit);
    await limiter.check("key", { cost: 4 });
    const reservation = await limiter.reserve("key", { cost: 2 });
    await limiter.block("key", 1_000);
    const blocked = { allowed: false, remaining: 0, retryAfterMs: 1_000 };
    expect(await limiter.check("key")).toMatchObject(blocked);
    expect(await limiter.reserve("key")).toMatchObject(blocked);
    expect(await limiter.peek("key")).toMatchObject(blocked);
    await limiter.refund("key", 1);
    await reservation.commit(3);
    expect(await limiter.check("key")).toMatchObject(blocked);
    clock.advance(999);
    expect(await limiter.check("key")).toMatchObject({ ...blocked, retryAfterMs: 1 });
    clock.advance(1);
    // 4 used and 3 committed, 1 refunded.
    expect(await limiter.check("key", { cost: 4 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("set again counts as it was set last, and unblock leaves what was used", async () => {
    const { limiter } = setUp(limit);
    await limiter.check("key", { cost: 4 });
    await limiter.block("key", 1_000);
    await limiter.block("key", Number.POSITIVE_INFINITY);
    const forever = { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY };
    expect(await limiter.check("key")).toMatchObject(forever);
    await limiter.block("key", 50);
    expect(await limiter.check("key")).toMatchObject({ allowed: false, retryAfterMs: 50 });
    await limiter.unblock("key");
    expect(await limiter.check("key", { cost: 6 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("outlives a reset, and a key that was never used", async () => {
    const { limiter, ttls } = setUp(limit);
    await limiter.check("key", { cost: 10 });
    for (const key of ["key", "fresh"]) {
      await limiter.block(key, Number.POSITIVE_INFINITY);
      await limiter.reset(key);
      expect(await limiter.check(key)).toMatchObject({ allowed: false });
    }
    expect((await ttls()).every((ttl) => ttl > 0)).toBe(true);
    await limiter.unblock("key");
    expect(await limiter.check("key", { cost: 10 })).toMatchObject({ allowed: true });
  });

  it("of an hour holds no key longer when the clock steps back", async () => {
    const { clock, limiter } = setUp(limit);
    await limiter.block("key", HOUR_MS);
    clock.advance(-24 * HOUR_MS);
    expect(await limiter.check("key")).toMatchObject({ allowed: false, retryAfterMs: HOUR_MS });
  });
});

describe("a block over several limits", () => {
  const limits = [singles["token bucket"], singles["fixed window"], lists.log] as const;

  it("refuses all of them, and none forgets anything", async () => {
    const { clock, limiter } = setUp(limits);
    await limiter.check("key", { cost: 4 });
    await limiter.block("key", 500);
    expect(await limiter.check("key")).toMatchObject({ allowed: false, retryAfterMs: 500 });
    clock.advance(500);
    expect(await limiter.check("key", { cost: 7 })).toMatchObject({ allowed: false, remaining: 6 });
    expect(await limiter.check("key", { cost: 6 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("is seen by a request that charges only a later one", async () => {
    const { clock, store } = setUp(limits);
    const nowMs = clock.now();
    const counter = { scope: "rule", part: 1, limit: singles["fixed window"] };
    const charge = { counter, key: "key", cost: 1, nowMs };
    await store.block("rule", "key", { untilMs: nowMs + 70, nowMs });
    for (const hold of [false, true, "briefly"] as const) {
      const { allowed, verdicts } = await store.decide([charge], { hold });
      expect(allowed).toBe(false);
      expect(verdicts[0]).toMatchObject({ allowed: false, retryAfterMs: 70 });
    }
  });

  it("outlives a change of the limit to any other algorithm", async () => {
    const { clock, store } = setUp(lists.log);
    const of = (limit: Limit) =>
      createLimiter({ limit, store: asAnotherProcess(store), clock, onStoreFailure: "throw" });
    await of(lists.log).check("key");
    await of(lists.log).block("key", 1_000);
    for (const limit of [...Object.values(singles), lists.log, ...Object.values(singles)]) {
      const seen = await of(limit).check("key");
      expect(seen, limit.algorithm).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    }
    clock.advance(1_000);
    expect(await of(singles["fixed window"]).check("key")).toMatchObject({ allowed: true });
  });

  it("of permits refuses acquire until it ends", async () => {
    const { clock, limiter } = setUp([concurrency({ limit: 2, permitMs: HOUR_MS }), limits[0]]);
    const permit = await limiter.acquire("key");
    await limiter.block("key", 500);
    expect(await limiter.acquire("key")).toMatchObject({ allowed: false, retryAfterMs: 500 });
    await permit.release();
    clock.advance(500);
    expect(await limiter.acquire("key", { cost: 2 })).toMatchObject({ allowed: true });
  });
});
