// Four servers share a limit of 1,000 requests a second and decide on their own: every 100 ms each reports what it
// admitted, and in between it assumes that the others continue as before. The traffic is four times the limit. A
// second limit is split into four counters, for a key that is too hot for one node of a Redis Cluster.

import { createLimiter, eventual, fixedWindow, memoryStore, sharded, tokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const shared = memoryStore(); // In production a store that servers share: redisStore(client).
const limit = tokenBucket({ capacity: 1_000, refillPerSecond: 1_000 });
const stores = [1, 2, 3, 4].map(() => eventual(shared, { syncMs: 100, nodes: 4, clock }));
const servers = stores.map((store) => createLimiter({ limit, store, clock }));

let admitted = 0;
for (let ms = 0; ms < 11_000; ms++) {
  for (const server of servers) {
    const { allowed } = await server.check("tenant:acme");
    if (allowed && ms >= 1_000) admitted++;
  }
  clock.advance(1);
}
const overPercent = (admitted / 10_000 - 1) * 100;
console.log(`within 1% of the limit after the first burst: ${Math.abs(overPercent) < 1}`);
console.log(`declared bound: ${stores[0].overshootMax(limit)} units`);
console.log(`measured less: ${stores[0].stats.overshootUnitsMax < stores[0].overshootMax(limit)}`);

const downloads = createLimiter({
  limit: fixedWindow({ limit: 10, windowMs: 60_000 }),
  store: sharded(memoryStore(), { shards: 4 }),
  clock,
});
const ada = await downloads.check("downloads", { caller: "user:ada" });
console.log(`ada's shard has ${ada.remaining} of ${ada.limit} left`);
const all = await downloads.peek("downloads");
console.log(`all shards have ${all.remaining} of ${all.limit} left`);

// Prints:
// within 1% of the limit after the first burst: true
// declared bound: 3300 units
// measured less: true
// ada's shard has 1 of 2 left
// all shards have 9 of 10 left
