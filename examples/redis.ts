// One limit for many processes: two limiters, as two servers would create them, share 5 requests a minute through
// Redis. Each has its own connection, and neither can spend what the other has spent.

import { Redis } from "ioredis";
import { createLimiter, tokenBucket } from "sluice";
import { redisStore } from "sluice/redis";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const limit = tokenBucket({ capacity: 5, refill: { amount: 5, everyMs: 60_000 } });
const servers = [1, 2].map(() => {
  const client = new Redis(url);
  client.on("error", (error) => console.error("redis:", error.message));
  const store = redisStore(client);
  // The first requests also wait for the connection. A server that has been up for a while needs no such deadline.
  const failure = { onStoreFailure: "local", timeoutMs: 1_000 } as const;
  const limiter = createLimiter({ name: "login", limit, store, ...failure });
  return { client, store, limiter };
});

try {
  await servers[0].limiter.reset("ip:203.0.113.10");
} catch (error) {
  // What an operator does needs the server. Requests don't: they are decided here under half of the limit.
  console.error("redis:", error);
}
for (let request = 1; request <= 6; request++) {
  const { limiter } = servers[request % 2];
  const { allowed, remaining, source } = await limiter.check("ip:203.0.113.10");
  console.log(`request ${request}: ${allowed ? "yes" : "no"}, ${remaining} left, by the ${source}`);
}

for (const { client, store } of servers) {
  await store.close();
  client.disconnect();
}

// Prints:
// request 1: yes, 4 left, by the store
// request 2: yes, 3 left, by the store
// request 3: yes, 2 left, by the store
// request 4: yes, 1 left, by the store
// request 5: yes, 0 left, by the store
// request 6: no, 0 left, by the store
