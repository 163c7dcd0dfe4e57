// How many decisions a second: `check` of a token bucket over the bare Map, rate-limiter-flexible
// and express-rate-limit, on keys that are all known already. The figure is the ratio.

import { type Bench, toFinding } from "../bench.js";
import {
  bareMap,
  expressIncrements,
  flexibleConsumes,
  generousBucket,
  sluiceChecks,
} from "../contenders.js";
import { type Comparison, type Contender, compare } from "../harness.js";

const SUBJECT = "sluice tokenBucket check";

/** Over a Map of counters, a million keys: more than the caches hold. */
export const overMap: Bench<Comparison> = {
  id: "memory/map",
  unit: "ratio",
  bound: { is: "at least", bar: 1.2, goal: 2 },
  parts: ["all"],
  runPart: () => race(bareMap(1_000_000), { keys: 1_000_000, operations: 1_000_000 }),
  conclude: (parts) => parts.map(toFinding),
};

/** Over a Map of counters, with few keys: all is in the cache, so only the work itself is measured. */
export const fewKeys: Bench<Comparison> = {
  id: "memory/few",
  unit: "ratio",
  bound: { is: "at least", goal: 1 },
  parts: ["all"],
  runPart: () => race(bareMap(1_000), { keys: 1_000, operations: 1_000_000 }),
  conclude: (parts) => parts.map(toFinding),
};

/** Over the limiter most used in Node. */
export const overFlexible: Bench<Comparison> = {
  id: "memory/rlf",
  unit: "ratio",
  bound: { is: "at least", bar: 4, goal: 10 },
  parts: ["all"],
  runPart: async () =>
    race(await flexibleConsumes(100_000), { keys: 100_000, operations: 500_000 }),
  conclude: (parts) => parts.map(toFinding),
};

/** Over the limiter most used with Express. */
export const overExpress: Bench<Comparison> = {
  id: "memory/erl",
  unit: "ratio",
  bound: { is: "at least", bar: 2, goal: 5 },
  parts: ["all"],
  runPart: async () =>
    race(await expressIncrements(100_000), { keys: 100_000, operations: 500_000 }),
  conclude: (parts) => parts.map(toFinding),
};

function race(
  reference: Contender,
  { keys, operations }: { keys: number; operations: number },
): Promise<Comparison> {
  return compare(sluiceChecks(SUBJECT, generousBucket, keys), reference, { operations });
}
