import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Charge,
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../src/index.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { ManualClock } from "../../src/testing/testing.js";
import { eternalKeys, longWindowMs, serverMs, slowRefill } from "./servers.js";
import { type Burst, callAll, killAll, startWorkers, totalOf, type Worker } from "./workers.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// More than the limit, so that every process is refused at least once.
const CHECKS = 150;

let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe("processes whose clocks are hours apart", () => {
  const wrongByMs = [0, HOUR_MS, -HOUR_MS, 40 * DAY_MS];
  let workers: readonly Worker[];
  beforeAll(() => {
    workers = startWorkers(wrongByMs);
  });
  afterAll(() => killAll(workers));

  const windowMs = longWindowMs();
  const limits: Readonly<Record<string, object>> = {
    tokenBucket: { capacity: 100, refill: slowRefill },
    fixedWindow: { limit: 100, windowMs },
    slidingWindowCounter: { limit: 100, windowMs },
    slidingWindowLog: { limit: 100, windowMs },
  };

  it("do have wrong clocks", async () => {
    const seen = await callAll<number>(workers, "wallMs");
    const nowMs = Date.now();
    for (const [i, ms] of seen.entries()) {
      expect(Math.abs(ms - nowMs - (wrongByMs[i] as number))).toBeLessThan(HOUR_MS / 2);
    }
  });

  it.each(Object.entries(limits))(
    "admit exactly 100 together under a %s",
    async (kind, numbers) => {
      await setUp(kind, numbers);
      const bursts = await callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
      expect(totalOf(bursts)).toBe(100);
    },
  );

  it("wait equally long for the next window", async () => {
    await setUp("fixedWindow", { limit: 1, windowMs });
    const startMs = await serverMs(server);
    const bursts = await callAll<Burst>(workers, "burst", { key: "user:2", count: 2 });
    const endMs = await serverMs(server);
    const leftMs = (atMs: number) => windowMs - (atMs % windowMs);
    for (const { retryAfterMsMin, retryAfterMsMax } of bursts) {
      expect(retryAfterMsMax).toBeLessThanOrEqual(leftMs(startMs));
      expect(retryAfterMsMin).toBeGreaterThanOrEqual(leftMs(endMs));
    }
  });

  it.each(["day", "week", "month"])("share a quota near the end of its %s", async (period) => {
    // By the clock that is an hour ahead, the period has ended; by the server's it has not.
    const endMs = Math.ceil(((await serverMs(server)) + HOUR_MS / 4) / 60_000) * 60_000;
    const anchor = new Date(endMs).toISOString().slice(0, "2024-01-31T09:30".length);
    await setUp("quota", { limit: 100, period, anchor }, period);
    const bursts = await callAll<Burst>(workers, "burst", { key: "user:3", count: CHECKS });
    expect(totalOf(bursts)).toBe(100);
    for (const { retryAfterMsMin, retryAfterMsMax } of bursts) {
      expect(retryAfterMsMax).toBeLessThanOrEqual(HOUR_MS / 4 + 60_000);
      expect(retryAfterMsMin).toBeGreaterThan(0);
    }
    expect(await eternalKeys(server)).toEqual([]);
  });

  async function setUp(kind: string, numbers: object, name = kind): Promise<void> {
    const limits = [[kind, numbers]];
    await callAll(workers, "setUp", { port: server.port, name, limits, onStoreFailure: "throw" });
  }
});

describe("a Redis clock that steps back by an hour", () => {
  const START_MS = Date.UTC(2026, 5, 15, 12, 34, 56, 789);
  const limits: Readonly<Record<string, Limit>> = {
    "a token bucket": tokenBucket({ capacity: 5, refillPerSecond: 1 }),
    "a token bucket that is kept as doubles": tokenBucket({ capacity: 5, refillPerSecond: 99_999 }),
    "a leaky bucket that meters": leakyBucket({ ratePerSecond: 2, queueSize: 4, mode: "meter" }),
    "a leaky bucket that shapes": leakyBucket({ ratePerSecond: 2, queueSize: 4 }),
    "a fixed window": fixedWindow({ limit: 5, windowMs: 10_000 }),
    "a fixed window aligned to its key": fixedWindow({ limit: 5, windowMs: 10_000, align: "key" }),
    "a fixed window from the first request": fixedWindow({
      limit: 5,
      windowMs: 10_000,
      align: "first",
    }),
    "a sliding counter": slidingWindowCounter({ limit: 5, windowMs: 10_000 }),
    "a sliding log": slidingWindowLog({ limit: 5, windowMs: 10_000 }),
    "a daily quota": quota({ limit: 5, period: "day", anchor: 12 }),
  };
  let client: Redis;
  beforeAll(() => {
    client = new Redis(server.port, server.host);
  });
  afterAll(() => client.disconnect());

  describe.each(Object.entries(limits))("under %s", (title, limit) => {
    it("makes no caller wait longer than one full recovery, and forgets nothing immediately", async () => {
      const clock = new ManualClock(START_MS);
      const store = redisStore(client, { clock, prefix: title.replaceAll(" ", "-") });
      const counter = { scope: "steps", part: 0, limit };
      const one: Charge = { counter, key: "user:1", cost: 1, nowMs: 0 };
      const check = async () => (await store.decide([one])).verdicts[0];
      let admitted = 0;
      while ((await check())?.allowed) admitted++;
      clock.advance(-HOUR_MS);
      const refused = await check();
      expect(refused?.allowed).toBe(false);
      expect(refused?.retryAfterMs).toBeLessThanOrEqual(limit.recoveryMs);
      expect(refused?.resetMs).toBeLessThanOrEqual(limit.recoveryMs);
      clock.advance(refused?.retryAfterMs as number);
      expect((await check())?.allowed).toBe(true);
      clock.advance(limit.recoveryMs);
      const [full] = await store.peek([one]);
      expect(full).toMatchObject({ allowed: true, remaining: limit.capacity });
      expect(admitted).toBe(limit.capacity);
      await store.close();
    });
  });

  it("keeps a block no longer than it was meant to last", async () => {
    const clock = new ManualClock(START_MS);
    const store = redisStore(client, { clock, prefix: "block" });
    const counter = { scope: "steps", part: 0, limit: fixedWindow({ limit: 5, windowMs: 1_000 }) };
    await store.block("steps", "user:1", { untilMs: 60_000, nowMs: 0 });
    clock.advance(-HOUR_MS);
    const [verdict] = await store.peek([{ counter, key: "user:1", cost: 1, nowMs: 0 }]);
    expect(verdict?.retryAfterMs).toBe(60_000);
    await store.close();
  });

  it("keeps a permit longer by the step and no more: its holder may still be at work", async () => {
    const clock = new ManualClock(START_MS);
    const store = redisStore(client, { clock, prefix: "permit" });
    const counter = { scope: "steps", part: 0, limit: concurrency({ limit: 1, permitMs: 5_000 }) };
    const one: Charge = { counter, key: "user:1", cost: 1, nowMs: 0 };
    await store.decide([one], { hold: true });
    clock.advance(-HOUR_MS);
    const { verdicts } = await store.decide([one], { hold: true });
    expect(verdicts[0]?.allowed).toBe(false);
    expect(verdicts[0]?.retryAfterMs).toBeLessThanOrEqual(HOUR_MS + 5_000);
    await store.close();
  });
});
