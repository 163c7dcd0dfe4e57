import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLimiter } from "../../src/limiter/limiter.js";
import { fixedWindow, type Limit, slidingWindowLog, tokenBucket } from "../../src/limits/limits.js";
import { leased } from "../../src/stores/leased/leased.js";
import { redisStore } from "../../src/stores/redis/redis-store.js";
import { resilient } from "../../src/stores/resilient/resilient.js";
import { longWindowMs, slowRefill } from "./servers.js";

const UNITS = 5_000;
const HOLDERS = 4;
const limits: Readonly<Record<string, Limit>> = {
  "token bucket": tokenBucket({ capacity: UNITS, refill: slowRefill }),
  "fixed window": fixedWindow({ limit: UNITS, windowMs: longWindowMs() }),
  "sliding log": slidingWindowLog({ limit: UNITS, windowMs: longWindowMs() }),
};

let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** One process of many: a connection, and leases of its own. */
function holder(name: string, limit: Limit) {
  const client = new Redis(server.port, server.host);
  // A deadline that a busy machine does not miss.
  const guarded = resilient(redisStore(client), { timeoutMs: 10_000 });
  const store = leased(guarded, { holders: HOLDERS });
  const limiter = createLimiter({ name, limit, store, onStoreFailure: "throw" });
  const close = async () => {
    await store.close();
    client.disconnect();
  };
  return { limiter, store, close };
}

describe("leases over a real server", () => {
  it.each(Object.entries(limits))(
    "of a %s never admit more than the limit, and return the rest",
    async (name, limit) => {
      const holders = Array.from({ length: HOLDERS }, () => holder(name, limit));
      const spend = async ({ limiter }: ReturnType<typeof holder>, checks: number) => {
        let admitted = 0;
        for (let turn = 0; turn < checks / 10; turn++) {
          const decisions = Array.from({ length: 10 }, () => limiter.check("key"));
          for (const { allowed } of await Promise.all(decisions)) if (allowed) admitted++;
          await new Promise((resolve) => setImmediate(resolve));
        }
        return admitted;
      };
      const sum = (counts: readonly number[]) => counts.reduce((total, n) => total + n, 0);

      const some = sum(await Promise.all(holders.map((one) => spend(one, 900))));
      expect(some).toBe(HOLDERS * 900);
      expect(sum(holders.map(({ store }) => store.stats.leasedDecisions))).toBeGreaterThan(
        some / 2,
      );
      await Promise.all(holders.map(({ close }) => close()));

      // The next process finds exactly what was not spent.
      const next = holder(name, limit);
      expect(await next.limiter.peek("key")).toMatchObject({ remaining: UNITS - some });
      const rest = await spend(next, UNITS);
      expect(some + rest).toBe(UNITS);
      await next.close();
    },
  );
});
