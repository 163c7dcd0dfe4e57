import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLimiter } from "../../limiter/limiter.js";
import { fixedWindow, type Limit, slidingWindowCounter, tokenBucket } from "../../limits/limits.js";
import { asAnotherProcess } from "../../testing/another-process.js";
import { redisStore } from "./redis-store.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const bucket = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: MINUTE_MS } });
const window = fixedWindow({ limit: 20, windowMs: HOUR_MS });
const sliding = slidingWindowCounter({ limit: 30, windowMs: 2 * HOUR_MS });

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

/** Limiters of one name, each under other limits, as before and after a change of them. */
function setUp(...limits: (Limit | readonly Limit[])[]) {
  const prefix = `parts-${count++}`;
  const store = redisStore(client, { prefix });
  const limiters = limits.map((limit) =>
    createLimiter({ limit, store: asAnotherProcess(store), name: "api", onStoreFailure: "throw" }),
  );
  return { limiters, store, keys: () => client.keys(`${prefix}:*`) };
}

/** What is left under each limit of a limiter called "api". */
async function left(store: ReturnType<typeof redisStore>, limits: readonly Limit[]) {
  const charges = limits.map((limit, part) => ({
    counter: { scope: "api", part, limit },
    key: "key",
    cost: 0,
    nowMs: 0,
  }));
  return (await store.peek(charges)).map(({ remaining }) => remaining);
}

describe("the limits of one limiter", () => {
  it("share one key, kept for as long as the longest of them needs", async () => {
    const { limiters, store, keys } = setUp([bucket, window, sliding]);
    for (let n = 0; n < 3; n++) expect((await limiters[0].check("key")).allowed).toBe(true);
    expect(await left(store, [bucket, window, sliding])).toEqual([7, 17, 27]);
    const [name, ...others] = await keys();
    expect(others).toEqual([]);
    const ttlMs = await client.pttl(name);
    expect(ttlMs).toBeGreaterThan(2 * HOUR_MS);
    expect(ttlMs).toBeLessThanOrEqual(4.5 * HOUR_MS + 1000);
  });

  it("are read and written once by a check", async () => {
    const { limiters } = setUp([bucket, window, sliding]);
    await limiters[0].check("key");
    await client.config("RESETSTAT");
    await limiters[0].check("key");
    const stats = await client.info("commandstats");
    const callsOf = (name: string) => new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1];
    expect(["mget", "setrange"].map(callsOf)).toEqual(["1", "1"]);
    expect(["set", "incrby", "pexpire"].map(callsOf)).toEqual([undefined, undefined, undefined]);
  });

  it("keep what was used when one is added, and when one is removed", async () => {
    const { limiters, store } = setUp(bucket, [bucket, window], [bucket, window, sliding]);
    await limiters[0].check("key", { cost: 4 });
    expect(await left(store, [bucket, window])).toEqual([6, 20]);
    await limiters[1].check("key", { cost: 2 });
    expect(await left(store, [bucket, window])).toEqual([4, 18]);
    await limiters[2].check("key");
    expect(await left(store, [bucket, window, sliding])).toEqual([3, 17, 29]);
    await limiters[0].check("key");
    expect(await left(store, [bucket, window, sliding])).toEqual([2, 17, 29]);
  });

  it("become one integer again when nothing but the first is in use", async () => {
    const { limiters, store, keys } = setUp([bucket, window]);
    await limiters[0].check("key", { cost: 3 });
    await store.refund([
      { counter: { scope: "api", part: 1, limit: window }, key: "key", cost: 3, nowMs: 0 },
    ]);
    const [name] = await keys();
    expect(await client.object("ENCODING", name)).toBe("int");
    expect(await client.pttl(name)).toBeGreaterThan(3 * MINUTE_MS - 1000);
    expect(await left(store, [bucket, window])).toEqual([7, 20]);
  });

  it("are all blocked by one block, keep what was used behind it, and forget it by a reset", async () => {
    const { limiters, store, keys } = setUp([bucket, window, sliding]);
    const [limiter] = limiters;
    await limiter.check("key", { cost: 3 });
    await limiter.block("key", HOUR_MS);
    expect(await limiter.check("key")).toMatchObject({ allowed: false, remaining: 0 });
    await limiter.unblock("key");
    expect(await left(store, [bucket, window, sliding])).toEqual([7, 17, 27]);
    await limiter.block("key", HOUR_MS);
    await limiter.reset("key");
    expect(await limiter.peek("key")).toMatchObject({ allowed: false });
    await limiter.unblock("key");
    expect(await left(store, [bucket, window, sliding])).toEqual([10, 20, 30]);
    expect(await keys()).toEqual([]);
  });

  it("count together whatever comes in one call", async () => {
    const { limiters, store, keys } = setUp(bucket, [bucket, window]);
    const [one, two] = limiters;
    const checks = [one.check("key"), two.check("key"), one.check("key"), two.check("key")];
    for (const { allowed } of await Promise.all(checks)) expect(allowed).toBe(true);
    expect(await left(store, [bucket, window])).toEqual([6, 18]);
    const [name] = await keys();
    expect(await client.pttl(name)).toBeGreaterThan(4 * MINUTE_MS - 1000);
  });

  it("count together also when the first check of the call has more limits", async () => {
    const { limiters, store } = setUp(bucket, [bucket, window]);
    const [one, two] = limiters;
    await Promise.all([two.check("key"), one.check("key"), one.check("key")]);
    expect(await left(store, [bucket, window])).toEqual([7, 19]);
  });
});
