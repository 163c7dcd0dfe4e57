// Leases: how close a limit that all servers share comes to one in process, on busy keys. Nothing is refused: it
// measures how budget is spent and supplied.

import {
  createLimiter,
  type LeasedStore,
  leased as leasedStore,
  resilient,
  tokenBucket,
} from "sluice";
import { redisStore } from "sluice/redis";
import { type Bench, type Finding, toPercent, toFinding as toSpeed } from "../bench.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { RandomIds, toKey } from "../random.js";
import { runTurns } from "./callers.js";
import { PATIENT } from "./contenders.js";
import { connect, withRedis } from "./server.js";

const OPERATIONS = 1_000_000;
const BUSY_KEYS = 100;
const MANY_KEYS = 1000;

/** More than a process can spend: on one key it decides some millions a second. */
export const hugeBucket = tokenBucket({ capacity: 100_000_000, refillPerSecond: 100_000_000 });

/** A comparison, and which share of the subject's decisions came out of a lease. */
interface Race {
  readonly comparison: Comparison;
  readonly leasedShare: number;
}

/** Over the plain memory limiter, same keys, same limit, same loop. */
export const leased: Bench<Race> = {
  id: "redis/leased",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 0.9 },
  parts: [String(BUSY_KEYS), String(MANY_KEYS)],
  runPart: (part) => race(Number(part)),
  conclude: ([busy, many]) => [
    toFinding(busy as Race),
    { ...toFinding(many as Race), isJudged: false },
  ],
};

/** A leased store over a guarded one: the order that the guide to leases advises. */
export async function leasedOver(address: { host: string; port: number }): Promise<LeasedStore> {
  return leasedStore(resilient(redisStore(await connect(address)), PATIENT));
}

function race(keys: number): Promise<Race> {
  return withRedis(async (redis) => {
    const store = await leasedOver(redis);
    const shared = createLimiter({ limit: hugeBucket, store });
    const subject = traffic(`sluice tokenBucket, leased, ${keys} busy keys`, keys, shared);
    const plain = createLimiter({ limit: hugeBucket });
    const reference = traffic("sluice tokenBucket, memory", keys, plain);
    const comparison = await compare(subject, reference, { operations: OPERATIONS });
    const { leasedDecisions, strictDecisions } = store.stats;
    await store.close();
    return { comparison, leasedShare: leasedDecisions / (leasedDecisions + strictDecisions) };
  });
}

function traffic(name: string, keys: number, limiter: Parameters<typeof runTurns>[0]): Contender {
  const ids = new RandomIds(keys);
  const nextKey = () => toKey(ids.next());
  return { name, run: (operations) => runTurns(limiter, operations, nextKey) };
}

function toFinding({ comparison, leasedShare }: Race): Finding {
  const speed = toSpeed(comparison);
  return { ...speed, note: `${speed.note}; ${toPercent(leasedShare)} decided out of leases` };
}
