// Programs of rate-limiter-flexible, moved to Sluice: each of its verbs and combinations.

import { createLimiter, denyCache, fixedWindow, memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const window = (limit: number, seconds: number) =>
  fixedWindow({ limit, windowMs: seconds * 1_000, align: "first" });
const show = ({ allowed, remaining }: { allowed: boolean; remaining: number }) =>
  `${allowed ? "allowed" : "refused"}, ${remaining} left`;

// new RateLimiterMemory({ points: 5, duration: 60, keyPrefix: "api" })
const api = createLimiter({ name: "api", limit: window(5, 60), clock });
console.log(`consume: ${show(api.check("ann", { cost: 2 }))}`);
const penalty = api.reserve("ann", { cost: 0 });
if (penalty.allowed) penalty.commit(2);
console.log(`penalty: ${show(api.peek("ann"))}`);
api.refund("ann", 1);
console.log(`reward: ${show(api.peek("ann"))}`);
api.block("ann", 30_000);
console.log(`block: ${show(api.check("ann"))}`);
api.unblock("ann");
api.reset("ann");
console.log(`delete: ${show(api.peek("ann"))}`);

// new BurstyRateLimiter(new RateLimiterMemory({ points: 1, duration: 1 }), burst)
const steady = createLimiter({ name: "steady", limit: window(1, 1), clock });
const burst = createLimiter({ name: "burst", limit: window(2, 10), clock });
function checkBursty(key: string) {
  const decision = steady.check(key);
  return decision.allowed ? decision : burst.check(key);
}
const bursty = Array.from({ length: 4 }, () => (checkBursty("ann").allowed ? "yes" : "no"));
console.log(`BurstyRateLimiter: ${bursty.join(" ")}`);

// new RateLimiterUnion(perSecond, perMinute)
const union = createLimiter({ name: "union", limit: [window(1, 1), window(3, 60)], clock });
console.log(`RateLimiterUnion: ${show(union.check("ann"))}; ${show(union.check("ann"))}`);

// new RateLimiterQueue(limiter).removeTokens(1)
const queue = createLimiter({ name: "queue", limit: window(1, 1), clock });
const turns = [queue.wait("api"), queue.wait("api")];
clock.advance(1_000);
const waited = await Promise.all(turns);
console.log(`RateLimiterQueue: ${waited.map(({ allowed }) => (allowed ? "yes" : "no")).join(" ")}`);

// inMemoryBlockOnConsumed: known refusals are answered in this process.
const store = denyCache(memoryStore(), { clock });
const cached = createLimiter({ name: "cached", limit: window(1, 60), store, clock });
await cached.check("ann");
await cached.check("ann");
console.log(`inMemoryBlockOnConsumed: from ${(await cached.check("ann")).source}`);

// Prints:
// consume: allowed, 3 left
// penalty: allowed, 1 left
// reward: allowed, 2 left
// block: refused, 0 left
// delete: allowed, 5 left
// BurstyRateLimiter: yes yes yes no
// RateLimiterUnion: allowed, 0 left; refused, 0 left
// RateLimiterQueue: yes yes
// inMemoryBlockOnConsumed: from deny-cache
