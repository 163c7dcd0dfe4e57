// Strict decisions a second, each made by Redis: over rate-limiter-flexible, and with three limits on each request
// over one.

import { fixedWindow, slidingWindowCounter } from "sluice";
import type { RedisProcess } from "sluice-test-servers";
import { type Bench, toFinding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { flexibleConsumes, strictAdmissions, strictChecks } from "./contenders.js";
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

const LIMITS = [
  generousBucket,
  fixedWindow(GENEROUS_WINDOW),
  slidingWindowCounter(GENEROUS_WINDOW),
];

/** What two more limits on each request cost: of one limiter, and of three rules by the same user. */
export const threeRules: Bench<Comparison> = {
  id: "redis/three-rules",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 0.8 },
  parts: ["limits", "rules"],
  // Servers of their own: counters of one name on one server would be shared.
  runPart: (part) =>
    withRedis((crowded) =>
      withRedis(async (plain) => {
        const contend = part === "limits" ? limiterOf : policyOf;
        const [subject, reference] = [await contend(crowded, 3), await contend(plain, 1)];
        return compare(subject, reference, { operations: OPERATIONS });
      }),
    ),
  conclude: (parts) => parts.map(toFinding),
};

function limiterOf(redis: RedisProcess, count: number): Promise<Contender> {
  const name = `sluice, a limiter with ${inWords(count)}, strict`;
  return strictChecks(redis, { name, limit: LIMITS.slice(0, count), keys: KEYS });
}

function policyOf(redis: RedisProcess, count: number): Promise<Contender> {
  const name = `sluice, a policy with ${inWords(count)} by user, strict`;
  return strictAdmissions(redis, { name, limits: LIMITS.slice(0, count), keys: KEYS });
}

function inWords(count: number): string {
  return count === 1 ? "one limit" : `${count} limits`;
}
