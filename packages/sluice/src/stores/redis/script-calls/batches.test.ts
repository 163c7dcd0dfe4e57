import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLimiter } from "../../../limiter/limiter.js";
import { fixedWindow, type Limit, slidingWindowLog, tokenBucket } from "../../../limits/limits.js";
import { asAnotherProcess } from "../../../testing/another-process.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { redisStore } from "../redis-store.js";

// So long that nothing comes back while a test runs, and its border is hardly ever near.
const YEAR_MS = 366 * 86_400_000;
const bucket = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: YEAR_MS } });
const window = fixedWindow({ limit: 1_000, windowMs: YEAR_MS });
const wideBucket = tokenBucket({ capacity: 1_000, refill: { amount: 1, everyMs: YEAR_MS } });
const log = slidingWindowLog({ limit: 10, windowMs: YEAR_MS });

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

/** How many scripts the server was asked to run meanwhile. */
async function callsDuring(act: () => Promise<unknown>): Promise<number> {
  await client.config("RESETSTAT");
  await act();
  const stats = await client.info("commandstats");
  const counts = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
  return counts.reduce((sum, match) => sum + Number(match[1]), 0);
}

function limiterOf(name: string, limit: Limit | readonly Limit[]) {
  return createLimiter({ name, limit, store, onStoreFailure: "throw" });
}

let store: ReturnType<typeof redisStore>;
beforeAll(async () => {
  store = redisStore(client);
  await limiterOf("warm up", [bucket, log]).check("key");
});
afterAll(() => store.close());

describe("requests of one turn", () => {
  it("share a call, of whatever limiters and keys", async () => {
    const limiters = [
      limiterOf("a", bucket),
      limiterOf("b", window),
      limiterOf("c", [bucket, window]),
    ];
    const checks = () =>
      Promise.all(
        limiters.flatMap((limiter) => [1, 2, 3, 4].map((n) => limiter.check(`key:${n}`))),
      );
    await checks();
    expect(await callsDuring(checks)).toBe(1);
  });

  it("are each counted by their own limits, keys and costs, however they are mixed", async () => {
    const counters = [
      { scope: "mixed-a", part: 0, limit: window },
      { scope: "mixed-b", part: 0, limit: wideBucket },
      { scope: "mixed-c", part: 0, limit: wideBucket },
      { scope: "mixed-c", part: 1, limit: window },
    ];
    const spent = new Map<string, number>();
    // Each set bit of `n % 15 + 1` is a counter, so neighbours differ, and every third request repeats the one before.
    const requests = Array.from({ length: 60 }, (_, i) => {
      const n = i - (i % 3 === 2 ? 1 : 0);
      const cost = 1 + (n % 2);
      return counters
        .filter((_, bit) => (((n % 15) + 1) >> bit) % 2 === 1)
        .map((counter) => ({ counter, key: `user:${i % 7}`, cost, nowMs: 0 }));
    });
    for (const { counter, key, cost } of requests.flat()) {
      const name = `${counter.scope} ${counter.part} ${key}`;
      spent.set(name, (spent.get(name) ?? 0) + cost);
    }
    const decide = () => Promise.all(requests.map((charges) => store.decide(charges)));
    expect(await callsDuring(decide)).toBe(1);
    for (const [name, units] of spent) {
      const [scope, part, key] = name.split(" ");
      const counter = counters.find((one) => one.scope === scope && one.part === Number(part));
      if (counter === undefined) throw new Error(`no counter ${name}`);
      const [{ remaining }] = await store.peek([{ counter, key, cost: 0, nowMs: 0 }]);
      expect([name, remaining]).toEqual([name, 1_000 - units]);
    }
  });

  it("share a bounded one", async () => {
    const limiter = limiterOf("bounded", window);
    const checks = () =>
      Promise.all(Array.from({ length: 200 }, (_, n) => limiter.check(`key:${n}`)));
    await checks();
    expect(await callsDuring(checks)).toBe(4);
  });

  it("are decided in their order, each by what those before it left", async () => {
    const limiter = limiterOf("ordered", bucket);
    const costs = [3, 9, 4, 4, 2, 1, 1];
    const decisions = await Promise.all(costs.map((cost) => limiter.check("key", { cost })));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([
      true,
      false,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([7, 7, 3, 3, 1, 0, 0]);
  });

  it("that share a key under several limits are all or nothing, one after the other", async () => {
    const limiter = limiterOf("several", [bucket, window, log]);
    const decisions = await Promise.all(
      Array.from({ length: 40 }, () => limiter.check("key", { cost: 3 })),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3);
    expect(await limiter.peek("key", { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 });
  });

  it("that fail don't take others along: a key that can't be named is refused by itself", async () => {
    const limiter = limiterOf("apart", bucket);
    const answers = await Promise.allSettled([
      limiter.check("user:1"),
      (async () => limiter.check("apiKey:without a secret"))(),
      limiter.check("user:2"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("are decided by what those before them left, also right after the numbers changed", async () => {
    const ticks = (capacity: number, everyMs: number) =>
      tokenBucket({ capacity, refill: { amount: 1, everyMs } });
    for (let round = 0; round < 20; round++) {
      const clock = new ManualClock(Date.UTC(2026, 0, 1));
      const own = redisStore(client, { clock, prefix: `changed-${round}` });
      const of = (limit: Limit) =>
        createLimiter({ limit, store: asAnotherProcess(own), clock, onStoreFailure: "throw" });
      await of(ticks(10, 100)).check("key", { cost: 5 });
      // At rest again, and not yet forgotten.
      clock.advance(2_000);
      const changed = of(ticks(10, 5_000));
      const costs = [11, ...Array.from({ length: 10 }, () => 1), 1];
      const decisions = await Promise.all(costs.map((cost) => changed.check("key", { cost })));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect(await changed.check("key")).toMatchObject({ allowed: false, remaining: 0 });
      await own.close();
    }
  });

  it("may settle any number of charges in one call", async () => {
    const keys = Array.from({ length: 3_000 }, (_, n) => `settled:${n}`);
    const counter = { scope: "many", part: 0, limit: bucket };
    const charges = keys.map((key) => ({ counter, key, cost: 4, nowMs: 0 }));
    const outcomes = await Promise.all(
      charges.map((charge) => store.decide([charge], { hold: true })),
    );
    const receipts = outcomes.flatMap((outcome) => outcome.receipts);
    expect(receipts).toHaveLength(3_000);
    await store.settle(receipts.map((receipt) => ({ receipt, kept: 1, nowMs: 0 })));
    const verdicts = await store.peek(charges.map((charge) => ({ ...charge, cost: 0 })));
    expect(verdicts.filter(({ remaining }) => remaining === 9)).toHaveLength(3_000);
  });

  it("fail by themselves under a clock that returns no time", async () => {
    const clock = { now: () => Number.NaN };
    const own = redisStore(client, { clock });
    const decision = own.decide([
      { counter: { scope: "s", part: 0, limit: bucket }, key: "k", cost: 1, nowMs: 0 },
    ]);
    await expect(decision).rejects.toMatchObject({ code: "SLUICE_TIME_INVALID" });
    await own.close();
  });

  it("of ten thousand callers are all answered, and exactly the limit admitted", async () => {
    const limiter = limiterOf("crowd", window);
    const checks = Array.from({ length: 10_000 }, () => limiter.check("key"));
    const admitted = (await Promise.all(checks)).filter(({ allowed }) => allowed).length;
    expect(admitted).toBe(1_000);
  });
});
