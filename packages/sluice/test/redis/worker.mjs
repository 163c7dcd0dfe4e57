// A process of its own that uses the built package as a service would. The test that forked it
// sends verbs over IPC, one object each, and gets one answer for each. It ends with its parent.

import { Redis } from "ioredis";
import * as sluice from "sluice";
import { redisStore } from "sluice/redis";

let limiter;
let client;

const verbs = {
  /** Makes the limiter that the other verbs use; `limits` is a list of [constructor, options]. */
  setUp({ port, limits, name = "test", onStoreFailure, timeoutMs, resilience, ...options }) {
    client ??= new Redis(port, "127.0.0.1").on("error", () => {});
    const bare = redisStore(client, options);
    limiter = sluice.createLimiter({
      name,
      limit: limits.map(([kind, numbers]) => sluice[kind](numbers)),
      store: resilience === undefined ? bare : sluice.resilient(bare, resilience),
      ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  },

  /** Many concurrent checks; answers how many were admitted, and what else was seen. */
  async burst({ key, count, options }) {
    const asked = Array.from({ length: count }, () => limiter.check(key, options));
    const decisions = await Promise.all(asked);
    const refused = decisions.filter(({ allowed }) => !allowed);
    return {
      admitted: count - refused.length,
      sources: [...new Set(decisions.map(({ source }) => source))],
      retryAfterMsMin: Math.min(...refused.map(({ retryAfterMs }) => retryAfterMs)),
      retryAfterMsMax: Math.max(...refused.map(({ retryAfterMs }) => retryAfterMs)),
    };
  },

  async acquire({ key }) {
    const { allowed, retryAfterMs } = await limiter.acquire(key);
    return { allowed, retryAfterMs };
  },

  /** What this process takes for the time. */
  wallMs: () => Date.now(),
};

process.on("message", async ({ id, verb, input }) => {
  try {
    process.send({ id, answer: await verbs[verb](input) });
  } catch (error) {
    process.send({ id, failure: String(error?.stack ?? error) });
  }
});
process.on("disconnect", () => process.exit());
