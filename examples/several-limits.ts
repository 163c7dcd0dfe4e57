// Several limits on one caller, decided together: 10 a second against bursts, 25 an hour against sustained use. A
// request that either limit refuses is charged to neither, and the decision has the longest wait of those that refuse.

import { createLimiter, tokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limiter = createLimiter({
  limit: [tokenBucket({ capacity: 10, refillPerSecond: 10 }), "25/hour"],
  clock,
});

for (let second = 0; second < 4; second++) {
  const decisions = Array.from({ length: 15 }, () => limiter.check("user:42"));
  const admitted = decisions.filter((decision) => decision.allowed).length;
  const last = decisions[14];
  console.log(`second ${second}: ${admitted} of 15 admitted, come back in ${last.retryAfterMs} ms`);
  clock.advance(1_000);
}

// Prints:
// second 0: 10 of 15 admitted, come back in 100 ms
// second 1: 10 of 15 admitted, come back in 100 ms
// second 2: 5 of 15 admitted, come back in 3598000 ms
// second 3: 0 of 15 admitted, come back in 3597000 ms
