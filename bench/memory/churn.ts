// A million keys that were never seen before, as a flood or a crawler sends them. Both sides start each round
// empty: rate-limiter-flexible has no bound and a timer for each key, so it needs cleaning up, and Sluice pays for
// the first use of its memory too. Creating the limiter and cleaning up are not timed.

import { createLimiter } from "sluice";
import { type Bench, toFinding } from "../bench.js";
import { flexibleLimiter, generousBucket, mustBeRefusal } from "../contenders.js";
import { type Comparison, type Contender, collectGarbage, compare } from "../harness.js";
import { FreshIds, toKey } from "../random.js";

const OPERATIONS = 1_000_000;
// All ids have seven digits at the most, so that keys are as long as in the other benchmarks.
const IDS = 10_000_000;

export const churn: Bench<Comparison> = {
  id: "memory/churn",
  unit: "ratio",
  bound: { is: "at least", bar: 4, goal: 8 },
  parts: ["all"],
  heapMbMax: 4096,
  runPart: () =>
    compare(sluiceChurn(), flexibleChurn(), { operations: OPERATIONS, rounds: 7, warmUpRounds: 1 }),
  conclude: (parts) => parts.map(toFinding),
};

function sluiceChurn(): Contender {
  let limiter = createLimiter({ limit: generousBucket });
  const ids = new FreshIds(IDS);
  const settle = () => {
    limiter = createLimiter({ limit: generousBucket });
    collectGarbage();
  };
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      if (limiter.check(toKey(ids.next())).allowed) admitted++;
    }
    return admitted;
  };
  return { name: "sluice tokenBucket check, never-seen keys", run, settle };
}

function flexibleChurn(): Contender {
  let limiter = flexibleLimiter();
  const ids = new FreshIds(IDS);
  const run = async (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      try {
        await limiter.consume(toKey(ids.next()));
        admitted++;
      } catch (refusal) {
        mustBeRefusal(refusal);
      }
    }
    return admitted;
  };
  const settle = async () => {
    // Its timers hold on to it: without clearing each of them nothing would be freed.
    for (const { key } of limiter.dump().storage) await limiter.delete(key);
    limiter = flexibleLimiter();
    // Its garbage is old by now, and collecting it must not fall into Sluice's round.
    collectGarbage();
  };
  return { name: "rate-limiter-flexible RateLimiterMemory, never-seen keys", run, settle };
}
