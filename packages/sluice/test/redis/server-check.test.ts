import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLimiter, fixedWindow, type Limiter } from "../../src/index.js";
import { type RedisStoreOptions, redisStore } from "../../src/stores/redis/redis.js";
import { type Interceptor, refusing, startInterceptor } from "./interceptor.js";
import { longWindowMs } from "./servers.js";

let server: RedisProcess;
let front: Interceptor;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  front = await startInterceptor(server);
  client = new Redis(front.port, front.host).on("error", () => {});
});
afterEach(() => {
  client.disconnect();
  front.close();
});

const limit = fixedWindow({ limit: 100, windowMs: longWindowMs() });
const policies = ["open", "closed", "local", "throw"] as const;

function limiterOf(options: RedisStoreOptions = {}, policy: (typeof policies)[number] = "throw") {
  const store = redisStore(client, options);
  return createLimiter({ limit, store, onStoreFailure: policy, timeoutMs: 20_000 });
}

/** What a check comes to, thrown or rejected alike. */
async function failureOf(limiter: Limiter<false>): Promise<unknown> {
  try {
    return await limiter.check("user:1");
  } catch (error) {
    return error;
  }
}

describe.each(policies)("a server that is too old, under onStoreFailure %s", (policy) => {
  it("is one clear error that names both versions, at each check, and no policy hides it", async () => {
    const info = String(await server.command("INFO"));
    const old = info.replace(/^redis_version:.*?$/m, "redis_version:5.0.0");
    front.intercept = ([name]) => (name?.toUpperCase() === "INFO" ? old : undefined);
    const limiter = limiterOf({}, policy);
    const failures = await Promise.all([failureOf(limiter), failureOf(limiter)]);
    failures.push(await failureOf(limiter));
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "SLUICE_STORE_UNSUPPORTED" });
      expect(String(failure)).toContain("5.0.0");
      expect(String(failure)).toContain("6.2");
    }
    expect(front.asked.EVALSHA ?? 0).toBe(0);
  });
});

describe("the look at a server", () => {
  it.each(["allkeys-lru", "allkeys-lfu", "allkeys-random"])(
    "warns once of maxmemory-policy %s, however many ask at the same time",
    async (policy) => {
      await server.command("CONFIG", "SET", "maxmemory-policy", policy);
      const warnings: string[] = [];
      const limiter = limiterOf({ onWarning: (message) => warnings.push(message) });
      await Promise.all(Array.from({ length: 200 }, () => limiter.check("user:1")));
      await limiter.check("user:1");
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain(policy);
    },
  );

  it.each(["noeviction", "volatile-lru"])("says nothing of maxmemory-policy %s", async (policy) => {
    await server.command("CONFIG", "SET", "maxmemory-policy", policy);
    const warnings: string[] = [];
    await limiterOf({ onWarning: (message) => warnings.push(message) }).check("user:1");
    expect(warnings).toEqual([]);
  });

  it("survives a listener that throws", async () => {
    await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    const onWarning = () => {
      throw new Error("a listener that throws");
    };
    const decision = await limiterOf({ onWarning }).check("user:2");
    expect(decision).toMatchObject({ allowed: true, source: "store" });
  });

  it("is tried again after it failed: a server that loads is waited for", async () => {
    await client.ping();
    const limiter = limiterOf();
    front.intercept = refusing("LOADING Redis is loading the dataset in memory", ["INFO"], 4);
    expect(await limiter.check("user:3")).toMatchObject({ allowed: true, source: "store" });
  });
});
