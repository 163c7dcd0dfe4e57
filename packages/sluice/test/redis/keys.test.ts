import { Redis } from "ioredis";
import { type RedisProcess, RespConnection, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  type Limit,
  type Limiter,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { asAnotherProcess } from "../../src/testing/another-process.js";
import { hostileKeys, illFormedKeys } from "../../src/testing/conformance/hostile-keys.js";
import { eternalKeys, keysOf, longWindowMs, serverMs, slowRefill } from "./servers.js";

const windowMs = longWindowMs();
let server: RedisProcess;
let client: Redis;
let store: RedisStore;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
beforeEach(async () => {
  await server.command("FLUSHALL");
  store = redisStore(client, { keySecret: "a secret of the service" });
});
afterEach(() => store.close());
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** A limiter of a process of its own, without a deadline: what the server does not answer fails the test. */
function limiterOf(limit: Limit | readonly Limit[], name = "login"): Limiter<false> {
  const own = asAnotherProcess(store);
  return createLimiter({ limit, name, store: own, onStoreFailure: "throw" });
}

const limits: Readonly<Record<string, Limit>> = {
  "a token bucket": tokenBucket({ capacity: 5, refill: slowRefill }),
  "a token bucket that is kept as doubles": tokenBucket({ capacity: 50, refillPerSecond: 0.7 }),
  "a leaky bucket": leakyBucket({ ratePerSecond: 0.01, queueSize: 5 }),
  "a fixed window": fixedWindow({ limit: 5, windowMs }),
  "a fixed window aligned to its key": fixedWindow({ limit: 5, windowMs, align: "key" }),
  "a sliding counter": slidingWindowCounter({ limit: 5, windowMs }),
  "a sliding log": slidingWindowLog({ limit: 5, windowMs }),
  "a quota": quota({ limit: 5, period: "month" }),
};

describe.each(Object.entries(limits))("under %s every key has a TTL after", (_, limit) => {
  const verbs: Readonly<Record<string, (limiter: Limiter<false>) => Promise<unknown>>> = {
    check: async (limiter) => limiter.check("user:1"),
    "a refused check": async (limiter) => {
      for (let i = 0; i < limit.capacity + 2; i++) await limiter.check("user:1");
    },
    "a check with a requestId": async (limiter) => {
      await limiter.check("user:1", { requestId: "request-1" });
      await limiter.check("user:1", { requestId: "request-1" });
    },
    reserve: async (limiter) => limiter.reserve("user:1", { cost: 2, requestId: "request-2" }),
    "commit of less": async (limiter) => (await limiter.reserve("user:1", { cost: 3 })).commit(1),
    "commit of more": async (limiter) => (await limiter.reserve("user:1", { cost: 3 })).commit(9),
    cancel: async (limiter) => (await limiter.reserve("user:1", { cost: 3 })).cancel(),
    refund: async (limiter) => {
      // On a key that is not there, and on one that is.
      await limiter.refund("user:1", 3);
      await limiter.check("user:1", { cost: 2 });
      await limiter.reserve("user:1");
      await limiter.refund("user:1", 1);
    },
    reset: async (limiter) => {
      await limiter.reset("user:1");
      await limiter.reserve("user:1", { cost: 2 });
      await limiter.reset("user:1");
    },
    "block, for a while and for ever": async (limiter) => {
      await limiter.check("user:1");
      await limiter.block("user:1", 60_000);
      await limiter.block("user:2", Number.POSITIVE_INFINITY);
      await limiter.check("user:1");
    },
    peek: async (limiter) => limiter.peek("user:1"),
    debit: async () => {
      const counter = { scope: "login", part: 0, limit };
      await store.debit([{ counter, key: "user:1", cost: limit.capacity * 3, nowMs: 0 }]);
    },
  };

  it.each(Object.entries(verbs))("%s", async (verb, act) => {
    await act(limiterOf(limit));
    expect(await eternalKeys(server)).toEqual([]);
    const isTrace = !["peek", "cancel", "reset"].includes(verb);
    if (isTrace) expect(await keysOf(server)).not.toEqual([]);
  });
});

describe("a block that outlasts its counter, by the server's own time", () => {
  const soonOver: Readonly<Record<string, Limit>> = {
    "a token bucket": tokenBucket({ capacity: 5, refillPerSecond: 100 }),
    "a token bucket that is kept as doubles": tokenBucket({ capacity: 5, refillPerSecond: 70.7 }),
    "a leaky bucket": leakyBucket({ ratePerSecond: 100, queueSize: 5 }),
    "a fixed window": fixedWindow({ limit: 5, windowMs: 20 }),
    "a sliding counter": slidingWindowCounter({ limit: 5, windowMs: 20 }),
    "a sliding log": slidingWindowLog({ limit: 5, windowMs: 20 }),
  };

  it.each(Object.entries(soonOver))("holds under %s, until it is ended", async (_, limit) => {
    const limiter = limiterOf(limit);
    await limiter.check("user:1");
    await limiter.block("user:1", 60_000);
    await limiter.block("user:2", Number.POSITIVE_INFINITY);
    await limiter.block("user:3", 60_000);
    const startMs = await serverMs(server);
    const isLater = async () => expect(await serverMs(server)).toBeGreaterThan(startMs + 150);
    await vi.waitFor(isLater, { timeout: 10_000, interval: 10 });
    // What is refunded or forgotten meanwhile must not take the block along.
    await limiter.refund("user:1", 5);
    await limiter.reset("user:3");
    for (const key of ["user:1", "user:2", "user:3"]) {
      expect((await limiter.check(key)).allowed, key).toBe(false);
      expect((await limiter.check(key)).allowed, key).toBe(false);
      expect((await limiter.peek(key)).allowed, key).toBe(false);
    }
    expect(await eternalKeys(server)).toEqual([]);
    await limiter.unblock("user:1");
    await limiter.unblock("user:2");
    expect((await limiter.check("user:1")).allowed).toBe(true);
    expect((await limiter.check("user:2")).allowed).toBe(true);
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("under permits every key has a TTL after", () => {
  const permits = [
    concurrency({ limit: 2, permitMs: 60_000 }),
    leakyBucket({ ratePerSecond: 1, queueSize: 9 }),
  ];

  it("acquire, a refused acquire, and release", async () => {
    const limiter = limiterOf(permits);
    const held = [await limiter.acquire("job"), await limiter.acquire("job")];
    expect(held.map(({ allowed }) => allowed)).toEqual([true, true]);
    expect((await limiter.acquire("job")).allowed).toBe(false);
    expect(await eternalKeys(server)).toEqual([]);
    await held[0]?.release();
    expect(await eternalKeys(server)).toEqual([]);
    expect((await limiter.acquire("job")).allowed).toBe(true);
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("names of keys", () => {
  it("are readable: prefix, identity in braces, limiter", async () => {
    await limiterOf(fixedWindow({ limit: 5, windowMs })).check("ip:203.0.113.10");
    expect(await keysOf(server)).toEqual(["sluice:{ip:203.0.113.10}:login"]);
  });

  it("distinguish hostile keys and names of limiters: each key has its own count", async () => {
    const keys = [...hostileKeys, ...illFormedKeys];
    const limit = fixedWindow({ limit: 5, windowMs });
    const limiters = ["a", "a:b", "b", "{a}", "a:block", "a:1"].map((name) =>
      limiterOf(limit, name),
    );
    const checks = limiters.flatMap((limiter) => keys.map(async (key) => limiter.check(key)));
    const decisions = await Promise.all(checks);
    expect(decisions.filter(({ remaining }) => remaining !== 4)).toEqual([]);
    expect(await keysOf(server)).toHaveLength(limiters.length * keys.length);
    expect(await eternalKeys(server)).toEqual([]);
  });

  it("are never long, whatever comes as a key, a requestId or a name", async () => {
    const limiter = limiterOf(fixedWindow({ limit: 5, windowMs }), "n".repeat(1_000));
    await limiter.check("k".repeat(65_536), { requestId: "r".repeat(256) });
    const reservation = await limiter.reserve("é".repeat(60_000));
    await reservation.commit(1);
    for (const key of await keysOf(server)) expect(key.length).toBeLessThan(1_000);
    expect(await bytesOfAll()).toBeLessThan(5_000);
  });

  async function bytesOfAll(): Promise<number> {
    return (await contentOf()).join("").length;
  }
});

describe("a secret", () => {
  const secret = "sk_live_51H8xYzSECRET";
  const forms = ["apiKey", "api_key", "token", "session", "jwt"].map((kind) => `${kind}:${secret}`);

  it("never gets into the server, by any verb, as a name or as a value", async () => {
    for (const limit of Object.values(limits)) {
      const limiter = limiterOf(limit);
      for (const key of forms) {
        await limiter.check(key);
        await limiter.check(key, { requestId: `request ${forms.indexOf(key)}` });
        await (await limiter.reserve(key, { requestId: `held ${forms.indexOf(key)}` })).commit(1);
        await limiter.block(key, 60_000);
      }
      await expectNoSecret();
      await server.command("FLUSHALL");
    }
  });

  it("is refused without a keySecret rather than stored, by an error that does not show it", async () => {
    const open = redisStore(client);
    const limiter = createLimiter({
      limit: fixedWindow({ limit: 5, windowMs }),
      store: open,
      onStoreFailure: "open",
    });
    const error = await Promise.resolve()
      .then(() => limiter.check(forms[0] as string))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "SLUICE_KEY_SECRET_MISSING" });
    expect(String(error)).not.toContain(secret);
    expect(await keysOf(server)).toEqual([]);
    await open.close();
  });

  it("has the same name in all processes that share the keySecret, and another under another", async () => {
    const again = redisStore(client, { keySecret: "a secret of the service" });
    const other = redisStore(client, { keySecret: "a secret of another one" });
    const limit = fixedWindow({ limit: 5, windowMs });
    const remaining: number[] = [];
    for (const each of [store, again, other]) {
      const limiter = createLimiter({ limit, store: each, onStoreFailure: "throw" });
      remaining.push((await limiter.check(forms[0] as string)).remaining);
    }
    expect(remaining).toEqual([4, 3, 4]);
    await again.close();
    await other.close();
  });

  async function expectNoSecret(): Promise<void> {
    const content = await contentOf();
    expect(content.length).toBeGreaterThan(forms.length);
    expect(content.filter((text) => text.includes(secret))).toEqual([]);
  }
});

/** All that a server holds: names of keys, and their values as DUMP writes them. */
async function contentOf(): Promise<string[]> {
  const connection = new RespConnection(server, "latin1");
  const keys = await keysOf(server);
  const values = await Promise.all(keys.map((key) => readOf(connection, key)));
  connection.close();
  return [...keys, ...values];
}

// DUMP may compress; what is read by the command of its type is as it was written.
async function readOf(connection: RespConnection, key: string): Promise<string> {
  const type = await connection.command("TYPE", key);
  if (type === "string") return String(await connection.command("GET", key));
  if (type === "hash") return String(await connection.command("HGETALL", key));
  return String(await connection.command("ZRANGE", key, 0, -1));
}
