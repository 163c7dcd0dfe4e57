// Leases: two processes share a limit through one store and still decide in process. Each leases budget in advance,
// spends it without asking the store, and returns what is left. Here the processes are two limiters over one memory
// store; in production the store is Redis.

import { createLimiter, leased, memoryStore, tokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(Date.UTC(2026, 0, 1));
const shared = memoryStore();
const limit = tokenBucket({ capacity: 1_000, refill: { amount: 1, everyMs: 3_600_000 } });

function startProcess() {
  const store = leased(shared, { holders: 2, clock });
  return { store, limiter: createLimiter({ limit, store, clock }) };
}

const one = startProcess();
const two = startProcess();
let admitted = 0;
for (let n = 0; n < 2_000; n++) {
  for (const { limiter } of [one, two]) {
    if ((await limiter.check("user:42")).allowed) admitted++;
  }
}
console.log(`admitted by both together: ${admitted}`);

const { leases, leasedDecisions, unitsLeased, unitsSpent } = one.store.stats;
console.log(`the first decided ${leasedDecisions} requests by itself, out of ${leases} leases`);
console.log(`and spent no more than it had leased: ${unitsSpent <= unitsLeased}`);

for (let n = 0; n < 20; n++) await one.limiter.check("user:7");
clock.advance(1_000);
const direct = createLimiter({ limit, store: shared, clock });
console.log(`20 were used, and what lay idle came back: ${direct.peek("user:7").remaining} left`);

// Prints:
// admitted by both together: 1000
// the first decided 504 requests by itself, out of 8 leases
// and spent no more than it had leased: true
// 20 were used, and what lay idle came back: 980 left
