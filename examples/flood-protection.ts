// One caller sends a hundred thousand requests, and another sends a new key each time. A deny cache and a coarse
// limit keep both away from the shared store, and legitimate callers notice nothing.

import { createLimiter, denyCache, fixedWindow, memoryStore, prelimit, tokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const shared = memoryStore(); // Stands for a store behind a network.
const cached = denyCache(shared, { clock });
const coarse = fixedWindow({ limit: 1_000, windowMs: 1_000 });
const store = prelimit(cached, { limit: coarse, by: "scope", clock });
const limiter = createLimiter({
  limit: tokenBucket({ capacity: 10, refillPerSecond: 1 }),
  store,
  clock,
});

const sources = new Map<string, number>();
for (let n = 0; n < 900; n++) {
  const { allowed, source } = await limiter.check("greedy");
  const answer = `${allowed ? "allowed" : "refused"} by ${source}`;
  sources.set(answer, (sources.get(answer) ?? 0) + 1);
}
for (const [answer, count] of sources) console.log(`greedy: ${answer} ${count} times`);
console.log(`honest: ${(await limiter.check("honest")).allowed ? "allowed" : "refused"}`);

let reached = 0;
for (let n = 0; n < 100_000; n++) {
  // The coarse limit's own numbers distinguish its refusals from the store's.
  if ((await limiter.check(`random ${n}`)).limit === 10) reached++;
}
console.log(`random keys: ${reached} of 100000 reached the store`);

clock.advance(1_000);
const { allowed } = await limiter.check("greedy");
console.log(`greedy, a second later: ${allowed ? "allowed" : "refused"}`);

// Prints:
// greedy: allowed by memory 10 times
// greedy: refused by memory 1 times
// greedy: refused by deny-cache 889 times
// honest: allowed
// random keys: 99 of 100000 reached the store
// greedy, a second later: allowed
