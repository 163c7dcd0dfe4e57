// Several limiters over one store, so that there is one bound on memory and one set of statistics. Their names keep
// the counters apart. A full store evicts the keys that have used the smallest share of their limit, so a flood of new
// keys does not free a caller that is being refused.

import { createLimiter, memoryStore, tokenBucket } from "sluice";

const store = memoryStore({ keysMax: 1_000 });
const slow = { amount: 1, everyMs: 3_600_000 };
const login = createLimiter({
  name: "login",
  limit: tokenBucket({ capacity: 5, refill: slow }),
  store,
});
const search = createLimiter({
  name: "search",
  limit: tokenBucket({ capacity: 20, refill: slow }),
  store,
});

login.check("203.0.113.10", { cost: 5 });
console.log(`search has a counter of its own: ${search.peek("203.0.113.10").remaining} left`);

for (let n = 0; n < 50_000; n++) search.check(`flood:${n}`);
const { keys, evictions, usageEvicted, bytes } = store.stats;
const share = Math.round((usageEvicted / evictions) * 100);
console.log(`a flood of 50,000 keys left no more than 1,000: ${keys <= 1_000}`);
console.log(
  `and evicted the others: ${evictions >= 49_000}, each with ${share}% of its limit used`,
);
console.log(`memory stayed below 1 MiB: ${bytes < 2 ** 20}`);
console.log(`login is still refused: ${!login.check("203.0.113.10").allowed}`);

// Prints:
// search has a counter of its own: 20 left
// a flood of 50,000 keys left no more than 1,000: true
// and evicted the others: true, each with 5% of its limit used
// memory stayed below 1 MiB: true
// login is still refused: true
