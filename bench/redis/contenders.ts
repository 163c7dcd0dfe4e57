// The contenders over Redis: Sluice through its public verbs, and rate-limiter-flexible as its documentation shows
// it. Each has its own connection to the same server.

import type { Redis } from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { createLimiter, type Limit, type Limiter } from "sluice";
import { redisStore } from "sluice/redis";
import { createPolicy, parseRules } from "sluice/rules";
import type { RedisProcess } from "sluice-test-servers";
import { mustBeRefusal } from "../contenders.js";
import type { Contender } from "../harness.js";
import { RandomIds, toKey } from "../random.js";
import { runCallers } from "./callers.js";
import { connect } from "./server.js";

/** Points and seconds of rate-limiter-flexible that equal the generous bucket of all comparisons. */
const FLEXIBLE = { points: 100_000, duration: 3600 };
/**
 * Sluice keeps its deadline and its policy, whose price is part of a decision, but a deadline that a
 * busy machine does not miss: what is decided in process must not count as decided by Redis.
 */
export const PATIENT = { timeoutMs: 10_000 } as const;

/** Asks for one decision on a key, and says whether it was admitted. */
export type Ask = (key: string) => Promise<boolean>;

/** Strict checks of all keys at random, by 100 callers at a time. Every key is known before. */
export async function strictChecks(
  redis: RedisProcess,
  { name, limit, keys }: { name: string; limit: Limit | readonly Limit[]; keys: number },
): Promise<Contender> {
  const store = redisStore(await connect(redis));
  const limiter = createLimiter({ limit, store, name: "api", ...PATIENT });
  return toContender(name, keys, (key) => checkStrictly(limiter, key));
}

/** Decisions of a policy with a rule for each list of limits, all by the user, in the same way. */
export async function strictAdmissions(
  redis: RedisProcess,
  {
    name,
    rules: lists,
    keys,
  }: { name: string; rules: readonly (readonly Limit[])[]; keys: number },
): Promise<Contender> {
  const store = redisStore(await connect(redis));
  const rules = parseRules({
    version: 1,
    rules: lists.map((limit, i) => ({ id: `rule-${i}`, key: "user", limit, ...PATIENT })),
  });
  const policy = createPolicy({ rules, store });
  return toContender(name, keys, async (user) => {
    const { allowed, source } = await policy.admit({ method: "GET", path: "/", user });
    if (source !== "store") throw new Error(`answered by ${source}: not a figure of Redis`);
    return allowed;
  });
}

/** rate-limiter-flexible's `consume` of all keys at random, in the same way. */
export async function flexibleConsumes(redis: RedisProcess, keys: number): Promise<Contender> {
  const limiter = flexibleLimiter(await connect(redis));
  const name = "rate-limiter-flexible RateLimiterRedis";
  return toContender(name, keys, (key) => consume(limiter, key));
}

/** One check of a Sluice limiter over Redis; an error if anything but Redis answered. */
export async function checkStrictly(limiter: Limiter<false>, key: string): Promise<boolean> {
  const { allowed, source } = await limiter.check(key);
  if (source !== "store") throw new Error(`answered by ${source}: not a figure of Redis`);
  return allowed;
}

/** One check of rate-limiter-flexible: a rejection is a refusal. */
export async function consume(limiter: RateLimiterRedis, key: string): Promise<boolean> {
  try {
    await limiter.consume(key);
    return true;
  } catch (refusal) {
    mustBeRefusal(refusal);
    return false;
  }
}

/** A limiter of rate-limiter-flexible over an ioredis client. */
export function flexibleLimiter(
  storeClient: Redis,
  { points, duration }: { points: number; duration: number } = FLEXIBLE,
): RateLimiterRedis {
  return new RateLimiterRedis({ storeClient, points, duration });
}

async function toContender(name: string, keys: number, ask: Ask): Promise<Contender> {
  let id = 0;
  await runCallers({ operations: keys }, () => ask(toKey(id++)));
  const ids = new RandomIds(keys);
  return { name, run: (operations) => runCallers({ operations }, () => ask(toKey(ids.next()))) };
}
