// Strict decisions a second: every one is made by Redis. Beside rate-limiter-flexible, and three
// limits on each request beside one.

import { fixedWindow, slidingWindowCounter } from "sluice";
import { type Bench, toFinding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { type Comparison, compare } from "../harness.js";
import { flexibleConsumes, strictChecks } from "./contenders.js";
import { withRedis } from "./server.js";

const KEYS = effort({ full: 100_000, quick: 20_000 });
const OPERATIONS = 50_000;
const GENEROUS_WINDOW = { limit: 100_000, windowMs: 3_600_000 };

/** Over rate-limiter-flexible on Redis. */
export const strict: Bench<Comparison> = {
  id: "redis/strict",
  unit: "ratio",
  bound: { is: "at least", bar: 2, goal: 3 },
  parts: ["all"],
  runPart: () =>
    withRedis(async (redis) => {
      const name = "sluice tokenBucket, strict";
      const subject = await strictChecks(redis, { name, limit: generousBucket, keys: KEYS });
      const reference = await flexibleConsumes(redis, KEYS);
      return compare(subject, reference, { operations: OPERATIONS });
    }),
  conclude: (parts) => parts.map(toFinding),
};

/** What two more rules on each request cost. */
export const threeRules: Bench<Comparison> = {
  id: "redis/three-rules",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 0.7 },
  parts: ["all"],
  runPart: async () => {
    const three = [
      generousBucket,
      fixedWindow(GENEROUS_WINDOW),
      slidingWindowCounter(GENEROUS_WINDOW),
    ];
    // Servers of their own: limiters of one name on one server would share the bucket.
    return withRedis((crowded) =>
      withRedis(async (plain) => {
        const [subject, reference] = [
          await strictChecks(crowded, {
            name: "sluice tokenBucket, fixedWindow and slidingWindowCounter, strict",
            limit: three,
            keys: KEYS,
          }),
          await strictChecks(plain, {
            name: "sluice tokenBucket, strict",
            limit: generousBucket,
            keys: KEYS,
          }),
        ];
        return compare(subject, reference, { operations: OPERATIONS });
      }),
    );
  },
  conclude: (parts) => parts.map(toFinding),
};
