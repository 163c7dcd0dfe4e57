import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createLimiter,
  type FailurePolicy,
  fixedWindow,
  type Limiter,
  type ResilientStore,
  resilient,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { callers, Load } from "./load.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const LIMIT = 100;
const TIMEOUT_MS = 100;
const RECOVERY_MS_MAX = 10_000;
/** How late an answer may be on a machine that is busy with other things. */
const TOLERANCE_MS = 2_000;
const limit = fixedWindow({ limit: LIMIT, windowMs: longWindowMs() });
const counter = { scope: "default", part: 0, limit };

let server: RedisProcess;
let proxy: FaultProxy;
let client: Redis;
let direct: Redis;
let store: RedisStore;
let guarded: ResilientStore;
/** Another store that sees the same counters without the proxy. */
let truth: RedisStore;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.command("FLUSHALL");
  proxy = await startFaultProxy({ port: server.port });
  client = new Redis(proxy.port, proxy.host).on("error", () => {});
  direct = new Redis(server.port, server.host);
  store = redisStore(client);
  guarded = resilient(store, { timeoutMs: TIMEOUT_MS, breaker: { openMs: 20 } });
  truth = redisStore(direct);
  await isBack(limiterWith("closed"));
});
afterEach(async () => {
  await guarded.close();
  await truth.close();
  client.disconnect();
  direct.disconnect();
  proxy.close();
});

function limiterWith(onStoreFailure: FailurePolicy): Limiter<false> {
  return createLimiter({ name: "default", limit, store: guarded, onStoreFailure });
}

/** Without deadline and breaker: the answers and errors of the store itself. */
function bareLimiter(): Limiter<false> {
  return createLimiter({ name: "default", limit, store, onStoreFailure: "throw" });
}

async function usedOf(key: string): Promise<number> {
  const [verdict] = await truth.peek([{ counter, key, cost: 0, nowMs: 0 }]);
  return LIMIT - (verdict?.remaining ?? 0);
}

async function isBack(limiter: Limiter<false>, key = "caller:new"): Promise<void> {
  await eventually(async () => {
    expect(await limiter.check(key)).toMatchObject({ source: "store" });
  });
}

function eventually(claim: () => Promise<void>): Promise<void> {
  return vi.waitFor(claim, { timeout: RECOVERY_MS_MAX, interval: 30 });
}

describe("a delay beyond the deadline", () => {
  it.each([
    ["open", true],
    ["closed", false],
    ["local", true],
  ] as const)("%s answers in time", async (policy, allowed) => {
    const limiter = limiterWith(policy);
    proxy.delay(TIMEOUT_MS * 3);
    const startMs = performance.now();
    const decision = await limiter.check("user:1");
    expect(performance.now() - startMs).toBeLessThan(TIMEOUT_MS + TOLERANCE_MS);
    expect(decision).toMatchObject({ source: "fallback", allowed });
  });

  it("a late admission that the policy refused is refunded", async () => {
    const limiter = limiterWith("closed");
    await isBack(limiter, "user:1");
    const { lateRefunded } = guarded.stats;
    proxy.delay(TIMEOUT_MS);
    const refused = await Promise.all(Array.from({ length: 20 }, () => limiter.check("user:1")));
    expect(new Set(refused.map(({ allowed }) => allowed))).toEqual(new Set([false]));
    await proxy.heal();
    let othersLate = 0;
    await eventually(async () => {
      // What is refunded while the circuit breaker is open goes with its next answer.
      if ((await limiter.check("caller:else")).source === "fallback") othersLate += 1;
      expect(await usedOf("user:1")).toBe(1);
    });
    // On a busy machine an answer to the others can be late too, and is refunded if they were sent.
    const refunded = guarded.stats.lateRefunded - lateRefunded;
    expect(refunded).toBeGreaterThanOrEqual(20);
    expect(refunded).toBeLessThanOrEqual(20 + othersLate);
  });

  it("a late admission whose refund lost its reply is refunded once", async () => {
    const limiter = limiterWith("closed");
    await limiter.check("user:1", { cost: 30 });
    // The server knows the script then, and the settling below is executed.
    await (await limiter.reserve("user:2")).cancel();
    server.pause();
    const refused = await limiter.check("user:1", { cost: 10 });
    expect(refused).toMatchObject({ source: "fallback", allowed: false });
    const { connectionsCut } = proxy.counters;
    // The first reply is the late admission, the second one that of its refund.
    proxy.cutEvery(2);
    server.resume();
    await eventually(async () => {
      expect(proxy.counters.connectionsCut).toBeGreaterThan(connectionsCut);
    });
    await eventually(async () => expect(await usedOf("user:1")).toBe(30));
    await proxy.heal();
    await isBack(limiter);
    await eventually(async () => expect(guarded.stats.settlingsWaiting).toBe(0));
    await isBack(limiter);
    expect(await usedOf("user:1")).toBe(30);
  });

  it("a late admission that the policy admitted stays charged: the request did run", async () => {
    const limiter = limiterWith("open");
    proxy.delay(TIMEOUT_MS);
    await Promise.all(Array.from({ length: 20 }, () => limiter.check("user:1")));
    await eventually(async () => expect(await usedOf("user:1")).toBe(20));
    await proxy.heal();
    await isBack(limiter);
    expect(await usedOf("user:1")).toBe(20);
  });
});

describe("replies that are lost after execution", () => {
  it("without a requestId: charged once for each that was sent, never sent again", async () => {
    const limiter = bareLimiter();
    for (let sent = 1; sent <= 10; sent++) {
      // A new connection has asked what it asks by then: the next reply is that of the check.
      await isBack(limiter);
      proxy.dropReplies({ count: 1 });
      await expect(Promise.resolve(limiter.check("user:1"))).rejects.toMatchObject({
        code: "SLUICE_STORE_UNAVAILABLE",
      });
      expect(await usedOf("user:1")).toBe(sent);
    }
    await isBack(limiter);
    expect(await usedOf("user:1")).toBe(10);
  });

  it("with a requestId: sent again, charged exactly once", async () => {
    const limiter = bareLimiter();
    for (let sent = 1; sent <= 10; sent++) {
      const requestId = `request-${sent}`;
      await isBack(limiter);
      await limiter.check("caller:known", { requestId: "the script is known" });
      proxy.dropReplies({ count: 1 });
      expect(await limiter.check("user:1", { requestId })).toMatchObject({
        source: "store",
        allowed: true,
        remaining: LIMIT - sent,
      });
      // And once more by its caller, as after a reply that was lost further up.
      expect(await limiter.check("user:1", { requestId })).toMatchObject({ allowed: true });
      expect(await usedOf("user:1")).toBe(sent);
    }
  });

  it("with a requestId behind a deadline: whatever answers, charged at most once", async () => {
    const limiter = limiterWith("closed");
    for (let i = 0; i < 5; i++) {
      const requestId = `request-${i}`;
      proxy.dropReplies();
      await limiter.check("user:1", { requestId });
      await proxy.heal();
      await eventually(async () => {
        const decision = await limiter.check("user:1", { requestId });
        expect(decision).toMatchObject({ source: "store", allowed: true });
      });
      expect(await usedOf("user:1")).toBe(i + 1);
    }
  });

  it("a reservation whose settling lost its reply is settled once", async () => {
    const limiter = limiterWith("closed");
    // The server knows the script then, and the settling below is executed.
    await (await limiter.reserve("user:1", { cost: 50 })).commit(10);
    const reservation = await limiter.reserve("user:1", { cost: 20 });
    expect(reservation.source).toBe("store");
    proxy.dropReplies();
    await reservation.commit(5);
    expect(await usedOf("user:1")).toBe(15);
    expect(guarded.stats.settlingsWaiting).toBe(1);
    await proxy.heal();
    await isBack(limiter);
    await eventually(async () => expect(guarded.stats.settlingsWaiting).toBe(0));
    await isBack(limiter);
    expect(await usedOf("user:1")).toBe(15);
  });
});

describe("connections that are cut", () => {
  it.each(["close", "reset"] as const)(
    "(%s) mid-flight: no rejection, no key past its limit",
    async (how) => {
      const limiter = limiterWith("local");
      const load = new Load({ limiter, keys: callers(10), concurrency: 16 });
      for (let cuts = 0; cuts < 30; cuts++) {
        const before = load.sources.store ?? 0;
        await load.runFor(RECOVERY_MS_MAX, () => (load.sources.store ?? 0) > before);
        proxy.cut(how);
      }
      await load.stop();
      expect(load.rejections).toEqual([]);
      expect(load.admittedMax).toBeLessThanOrEqual(LIMIT);
      await isBack(limiter);
      expect(await eternalKeys(server)).toEqual([]);
    },
  );

  it("once: however many requests and calls it takes down, the circuit breaker does not open for it", async () => {
    const limiter = limiterWith("closed");
    proxy.delay(20);
    const asked = Array.from({ length: 640 }, () => limiter.check("user:1"));
    await sleep(10);
    proxy.cut();
    const decisions = await Promise.all(asked);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(["fallback"]));
    expect(guarded.stats.state).toBe("closed");
    await proxy.heal();
    await isBack(limiter);
  });

  it("every third reply instead of passing it on: no more is admitted than charged", async () => {
    const limiter = limiterWith("closed");
    proxy.cutEvery(3);
    const load = new Load({ limiter, keys: ["user:1"], concurrency: 4 });
    await load.runFor(1_500);
    await load.stop();
    await proxy.heal();
    expect(load.rejections).toEqual([]);
    expect(load.admittedMax).toBeGreaterThan(0);
    expect(await usedOf("user:1")).toBeGreaterThanOrEqual(load.admittedMax);
    await isBack(limiter);
  });
});

describe("a partition", () => {
  it("each decision is answered in time, the breaker opens, and after it the store decides again", async () => {
    const limiter = limiterWith("local");
    proxy.partition();
    const load = new Load({ limiter, keys: callers(10), concurrency: 16, pauseMs: 2 });
    await load.runFor(RECOVERY_MS_MAX, () => guarded.stats.state !== "closed");
    expect(guarded.stats.state).not.toBe("closed");
    await load.runFor(500);
    await load.stop();
    expect(load.rejections).toEqual([]);
    expect(Object.keys(load.sources)).toEqual(["fallback"]);
    expect(load.slowestMs).toBeLessThan(TIMEOUT_MS + TOLERANCE_MS);
    await proxy.heal();
    await isBack(limiter);
    expect(guarded.stats.state).toBe("closed");
  });

  it("that refuses new connections too is left as soon as it ends", async () => {
    const limiter = limiterWith("closed");
    proxy.refuse();
    proxy.cut("reset");
    const startMs = performance.now();
    expect(await limiter.check("user:1")).toMatchObject({ source: "fallback", allowed: false });
    expect(performance.now() - startMs).toBeLessThan(TIMEOUT_MS + TOLERANCE_MS);
    await sleep(200);
    await proxy.heal();
    await isBack(limiter);
  });

  it("without a deadline, where there is no connection an error comes within seconds", async () => {
    const limiter = bareLimiter();
    proxy.refuse();
    proxy.cut("reset");
    await expect(Promise.resolve(limiter.check("user:1"))).rejects.toMatchObject({
      code: "SLUICE_STORE_UNAVAILABLE",
    });
    await proxy.heal();
    await isBack(limiter);
  });
});

describe("a network that brings bytes one by one", () => {
  it("changes no answer", async () => {
    const limiter = bareLimiter();
    proxy.trickle({ bytes: 1, everyMs: 0 });
    const decisions = await Promise.all([
      limiter.check("user:1", { cost: 3 }),
      limiter.check("user:1", { cost: 98 }),
      limiter.check("user:2", { requestId: "request-1" }),
    ]);
    expect(decisions).toMatchObject([
      { allowed: true, remaining: 97 },
      { allowed: false, remaining: 97 },
      { allowed: true, remaining: 99 },
    ]);
  });
});
