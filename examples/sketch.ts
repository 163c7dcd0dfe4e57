// A flood of 200,000 keys in one window, which would evict each other from a small table. A sketch of 400 kB counts all of
// them. The caller that sends too much is refused at its limit, and the others pass.

import { createLimiter, memoryStore, sketch } from "sluice";
import { ManualClock } from "sluice/testing";

const LIMIT = 100;
const KEYS = 200_000;

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const store = memoryStore({ seed: { low: 1, high: 2 } }); // Leave the seed out too.
const limiter = createLimiter({
  limit: sketch({ limit: LIMIT, windowMs: 60_000, errorShare: 5e-5, exactKeysMax: 1_000 }),
  store,
  clock,
});

let greedyAdmitted = 0;
let othersRefused = 0;
for (let n = 0; n < KEYS; n++) {
  if (n % 100 === 0 && limiter.check("greedy").allowed) greedyAdmitted++;
  if (!limiter.check(`random ${n}`).allowed) othersRefused++;
}
console.log(`greedy: ${greedyAdmitted} of ${KEYS / 100} admitted, the limit is ${LIMIT}`);
console.log(`others: ${othersRefused} of ${KEYS} refused`);

const [figures] = store.stats.sketches;
if (figures !== undefined) {
  console.log(`memory: ${Math.round(figures.bytes / 1000)} kB`);
  console.log(`a count may be ${figures.errorUnitsMax.toFixed(0)} too high`);
  console.log(`a key never seen is over-counted by ${figures.errorUnits.toFixed(0)}`);
}

clock.advance(60_000);
console.log(`greedy, in the next window: ${limiter.check("greedy").remaining + 1} left`);

// Prints:
// greedy: 100 of 2000 admitted, the limit is 100
// others: 0 of 200000 refused
// memory: 383 kB
// a count may be 10 too high
// a key never seen is over-counted by 1
// greedy, in the next window: 100 left
