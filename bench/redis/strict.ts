// Strict decisions a second, each made by Redis: over rate-limiter-flexible, and with three limits on each request
// over one.

import { fixedWindow, type Limit, slidingWindowCounter } from "sluice";
import type { RedisProcess } from "sluice-test-servers";
import { type Bench, toFinding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { flexibleConsumes, strictAdmissions, strictChecks } from "./contenders.js";
import { withRedis } from "./server.js";

const KEYS = effort({ full: 100_000, quick: 20_000 });
/**
 * Many and short rounds: the two sides of one are then milliseconds apart, so other load affects both, and the
 * interval of a median narrows with their number.
 */
const ROUNDS = { operations: 15_000, rounds: 31 } as const;
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
      return compare(subject, reference, ROUNDS);
    }),
  conclude: (parts) => parts.map(toFinding),
};

const LIMITS = [
  generousBucket,
  fixedWindow(GENEROUS_WINDOW),
  slidingWindowCounter(GENEROUS_WINDOW),
] as const;

/**
 * What two more limits on each request cost: of one limiter, and of three rules by the same user. Beside it, not judged,
 * the three limits in one rule, where they share a key as those of a limiter do.
 */
export const threeRules: Bench<Comparison> = {
  id: "redis/three-rules",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 0.8 },
  parts: ["limits", "rules", "one rule"],
  // Servers of their own: counters of one name on one server would be shared.
  runPart: (part) =>
    withRedis((crowded) =>
      withRedis(async (plain) => {
        const [subject, reference] = await contenders(part, crowded, plain);
        return compare(subject, reference, ROUNDS);
      }),
    ),
  conclude: (parts) => parts.map((part, i) => ({ ...toFinding(part), isJudged: i < 2 })),
};

async function contenders(
  part: string,
  crowded: RedisProcess,
  plain: RedisProcess,
): Promise<[Contender, Contender]> {
  const [first] = LIMITS;
  if (part === "limits")
    return [
      await limiterWith("3 limits", LIMITS, crowded),
      await limiterWith("one limit", first, plain),
    ];
  const three =
    part === "one rule"
      ? await policyWith("one rule of 3 limits", [LIMITS], crowded)
      : await policyWith(
          "3 rules",
          LIMITS.map((limit) => [limit]),
          crowded,
        );
  return [three, await policyWith("one rule of one limit", [[first]], plain)];
}

function limiterWith(
  what: string,
  limit: Limit | readonly Limit[],
  redis: RedisProcess,
): Promise<Contender> {
  const name = `sluice, a limiter with ${what}, strict`;
  return strictChecks(redis, { name, limit, keys: KEYS });
}

function policyWith(
  what: string,
  rules: readonly (readonly Limit[])[],
  redis: RedisProcess,
): Promise<Contender> {
  const name = `sluice, a policy with ${what} by user, strict`;
  return strictAdmissions(redis, { name, rules, keys: KEYS });
}
