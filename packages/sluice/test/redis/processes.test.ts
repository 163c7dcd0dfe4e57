import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import * as sluice from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { eternalKeys, longWindowMs, serverMs, slowRefill } from "./servers.js";
import { type Burst, callAll, killAll, startWorkers, totalOf, Worker } from "./workers.js";

const PROCESSES = 8;
const CHECKS = 500;
const ROUNDS = 3;

let server: RedisProcess;
let client: Redis;
let store: RedisStore;
let workers: readonly Worker[];

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
  store = redisStore(client);
  workers = startWorkers(Array.from({ length: PROCESSES }, () => 0));
});
afterAll(async () => {
  await killAll(workers);
  await store.close();
  client.disconnect();
  await server.stop();
});

type Spec = readonly [constructor: string, options: object];
const windowMs = longWindowMs();
const bucket: Spec = ["tokenBucket", { capacity: 100, refill: slowRefill }];
const window: Spec = ["fixedWindow", { limit: 100, windowMs }];
const algorithms: Readonly<Record<string, readonly Spec[]>> = {
  "a token bucket": [bucket],
  "a leaky bucket that meters": [
    ["leakyBucket", { ratePerSecond: 1 / 86_400, queueSize: 99, mode: "meter" }],
  ],
  "a fixed window": [window],
  "a fixed window aligned to its key": [["fixedWindow", { limit: 100, windowMs, align: "key" }]],
  "a sliding counter": [["slidingWindowCounter", { limit: 100, windowMs }]],
  "a sliding log": [["slidingWindowLog", { limit: 100, windowMs }]],
  "a monthly quota": [["quota", { limit: 100, period: "month", anchor: farAnchor() }]],
  "several limits together": [
    ["slidingWindowLog", { limit: 140, windowMs }],
    bucket,
    ["slidingWindowCounter", { limit: 120, windowMs }],
    ["fixedWindow", { limit: 130, windowMs }],
  ],
};

/** Without a deadline: what the server does not decide fails the test. */
function setUp(setup: object): Promise<unknown> {
  return callAll(workers, "setUp", { port: server.port, onStoreFailure: "throw", ...setup });
}

/** A day of the month that is not near. */
function farAnchor(): number {
  return ((new Date().getUTCDate() + 13) % 28) + 1;
}

describe("eight processes that share a limit of 100", () => {
  describe.each(Object.entries(algorithms))("under %s", (title, limits) => {
    it(`admit exactly 100 of ${PROCESSES * CHECKS} concurrent requests, ${ROUNDS} times over`, async () => {
      await setUp({ name: title, limits });
      await everyRoundAdmits100(title);
    });
  });

  it("admit exactly 100 behind a deadline and a breaker too", async () => {
    const care = { onStoreFailure: "closed", timeoutMs: 20_000 };
    await setUp({ name: "guarded", limits: [bucket], ...care });
    await everyRoundAdmits100("guarded");
  });

  it("admit as many as fit at a cost of 7, and a refusal costs nothing under any limit", async () => {
    const limits = algorithms["several limits together"] as readonly Spec[];
    await setUp({ name: "weighted", limits });
    const input = { key: "user:1", count: CHECKS, options: { cost: 7 } };
    const bursts = await callAll<Burst>(workers, "burst", input);
    expect(totalOf(bursts)).toBe(14);
    const charges = limits.map(([kind, numbers], part) => ({
      counter: { scope: "weighted", part, limit: make(kind, numbers) },
      key: "user:1",
      cost: 0,
      nowMs: 0,
    }));
    const verdicts = await store.peek(charges);
    expect(verdicts.map(({ limit, remaining }) => limit - remaining)).toEqual([98, 98, 98, 98]);
  });

  async function everyRoundAdmits100(name: string): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const input = { key: `${name}:${round}`, count: CHECKS };
      const bursts = await callAll<Burst>(workers, "burst", input);
      expect(totalOf(bursts), `round ${round}`).toBe(100);
      expect([...new Set(bursts.flatMap(({ sources }) => sources))]).toEqual(["store"]);
    }
    expect(await eternalKeys(server)).toEqual([]);
  }
});

describe("processes that are killed in the middle of their checks", () => {
  it("leave no key without a TTL, and no more than the limit is ever admitted", async () => {
    await setUp({ name: "killed", limits: [bucket] });
    const doomed = startWorkers([0, 0]);
    const setup = { port: server.port, name: "killed", limits: [bucket], onStoreFailure: "throw" };
    await callAll(doomed, "setUp", setup);
    const input = { key: "user:1", count: 5_000 };
    const lost = doomed.map((worker) => worker.call("burst", input).catch(() => "lost"));
    const bursts = callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
    await killAll(doomed);
    await Promise.all(lost);
    expect(totalOf(await bursts)).toBeLessThanOrEqual(100);
    const rest = await callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
    expect(totalOf(await bursts) + totalOf(rest)).toBeLessThanOrEqual(100);
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("one requestId in several processes", () => {
  it("is charged once, however many send it at the same time, and all are admitted", async () => {
    await setUp({ name: "once", limits: [window] });
    for (let round = 0; round < 10; round++) {
      const key = `user:${round}`;
      const input = { key, count: 20, options: { requestId: `request-${round}` } };
      const bursts = await callAll<Burst>(workers, "burst", input);
      expect(totalOf(bursts)).toBe(PROCESSES * 20);
      expect(await usedOf("once", key)).toBe(1);
    }
  });

  async function usedOf(scope: string, key: string): Promise<number> {
    const counter = { scope, part: 0, limit: make(...window) };
    const [{ limit, remaining }] = await store.peek([{ counter, key, cost: 0, nowMs: 0 }]);
    return limit - remaining;
  }
});

describe("the permit of a process that was killed", () => {
  it("is free again after permitMs by the server's clock, and not before", async () => {
    const permitMs = 1_500;
    const limits = [["concurrency", { limit: 1, permitMs }]];
    const [holder, next] = [new Worker(), workers[0] as Worker];
    const setup = { port: server.port, name: "places", limits, onStoreFailure: "throw" };
    await Promise.all([holder.call("setUp", setup), next.call("setUp", setup)]);
    const beforeMs = await serverMs(server);
    expect(await holder.call("acquire", { key: "job" })).toMatchObject({ allowed: true });
    await holder.kill();
    const refused = await next.call<{ retryAfterMs: number }>("acquire", { key: "job" });
    expect(refused).toMatchObject({ allowed: false });
    expect(refused.retryAfterMs).toBeLessThanOrEqual(permitMs);
    const acquires = async () =>
      expect(await next.call("acquire", { key: "job" })).toMatchObject({ allowed: true });
    await vi.waitFor(acquires, { timeout: 30_000, interval: 20 });
    expect(await serverMs(server)).toBeGreaterThanOrEqual(beforeMs + permitMs);
  });
});

function make(kind: string, numbers: object): sluice.Limit {
  const constructors = sluice as unknown as Record<string, (numbers: object) => sluice.Limit>;
  return (constructors[kind] as (numbers: object) => sluice.Limit)(numbers);
}
