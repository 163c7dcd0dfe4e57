// Memory of Redis for each of a million live keys: what the server allocated since before the first of them,
// including its tables of keys and of expiries. Each side has its own server.

import { setTimeout } from "node:timers/promises";
import { createLimiter, tokenBucket } from "sluice";
import { redisStore } from "sluice/redis";
import type { RedisProcess } from "sluice-test-servers";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { toKey } from "../random.js";
import { runCallers } from "./callers.js";
import { type Ask, checkStrictly, consume, flexibleLimiter, PATIENT } from "./contenders.js";
import { connect, readUsedBytes, withRedis } from "./server.js";

const KEYS = effort({ full: 1_000_000, quick: 20_000 });
// All keys have seven digits: "user:1234567".
const FIRST_ID = 1_000_000;
const CALLERS_FILLING = 500;
// So long that nothing expires before the last key is in.
const DAY_MS = 86_400_000;
const POINTS = 100;
// Buffers of connections shrink some time after the traffic.
const SETTLE_MS = effort({ full: 3000, quick: 500 });

/** What the keys of one side took. */
interface Footprint {
  readonly side: string;
  readonly bytes: number;
  readonly keys: number;
  readonly example: string;
}

const sides: Readonly<Record<string, (redis: RedisProcess) => Promise<Ask>>> = {
  "sluice tokenBucket": async (redis) => {
    const limit = tokenBucket({ capacity: POINTS, refill: { amount: POINTS, everyMs: DAY_MS } });
    const store = redisStore(await connect(redis));
    const limiter = createLimiter({ limit, store, name: "api", ...PATIENT });
    return (key) => checkStrictly(limiter, key);
  },
  "rate-limiter-flexible RateLimiterRedis": async (redis) => {
    const numbers = { points: POINTS, duration: DAY_MS / 1000 };
    const limiter = flexibleLimiter(await connect(redis), numbers);
    return (key) => consume(limiter, key);
  },
};

export const bytes: Bench<Footprint> = {
  id: "redis/bytes",
  unit: "bytes per key",
  bound: { is: "at most", goal: 112 },
  parts: Object.keys(sides),
  runPart: (side) => withRedis((redis) => weigh(redis, side)),
  conclude: (parts) => parts.map(toFinding),
};

async function weigh(redis: RedisProcess, side: string): Promise<Footprint> {
  const ask = await (sides[side] as (redis: RedisProcess) => Promise<Ask>)(redis);
  // Scripts and connections don't count as memory of a key.
  await ask("warm-up");
  const bytesBefore = await readUsedBytes(redis);
  let id = FIRST_ID;
  await runCallers({ operations: KEYS, callers: CALLERS_FILLING }, () => ask(toKey(id++)));
  await setTimeout(SETTLE_MS);
  const bytes = (await readUsedBytes(redis)) - bytesBefore;
  const keys = Number(await redis.command("DBSIZE"));
  return { side, bytes, keys, example: String(await redis.command("RANDOMKEY")) };
}

function toFinding({ side, bytes, keys, example }: Footprint, index: number): Finding {
  if (keys < KEYS) throw new Error(`${side}: ${keys} keys of ${KEYS} are there`);
  const subject = `${side}, ${KEYS.toLocaleString("en")} live keys`;
  return { subject, value: bytes / KEYS, note: `keys such as ${example}`, isJudged: index === 0 };
}
