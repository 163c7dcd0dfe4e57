// A flood of requests for an exhausted key, through the deny cache: how many of them reach Redis. It comes as fast
// as the process can refuse, from 100 callers at a time.

import { createLimiter, denyCache, resilient, tokenBucket } from "sluice";
import { redisStore } from "sluice/redis";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { rangeOf } from "../harness.js";
import { toKey } from "../random.js";
import { runTurns } from "./callers.js";
import { PATIENT } from "./contenders.js";
import {
  type CommandCount,
  commandsPer,
  connect,
  countCommands,
  meanCount,
  withRedis,
} from "./server.js";

const ROUNDS = effort({ full: 7, quick: 3 });
const OPERATIONS = effort({ full: 3_000_000, quick: 500_000 });
const PER_REFUSALS = 100_000;

// Nothing comes back while the flood lasts.
const exhausted = tokenBucket({ capacity: 10, refill: { amount: 10, everyMs: 86_400_000 } });

/** What Redis carried out for each 100,000 refusals, one count a round. */
interface Rounds {
  readonly counts: readonly CommandCount[];
  readonly perSec: number;
}

export const flood: Bench<Rounds> = {
  id: "redis/flood",
  unit: "commands",
  bound: { is: "at most", bar: 5, goal: 1 },
  parts: ["all"],
  runPart: refuseAll,
  conclude: (parts) => parts.map(toFinding),
};

function refuseAll(): Promise<Rounds> {
  return withRedis(async (redis) => {
    // The guard inside, so that what is known costs nothing of it.
    const store = denyCache(resilient(redisStore(await connect(redis)), PATIENT));
    const limiter = createLimiter({ limit: exhausted, store });
    const nextKey = () => toKey(1);
    await runTurns(limiter, OPERATIONS, nextKey);
    const counts: CommandCount[] = [];
    const startMs = performance.now();
    for (let round = 0; round < ROUNDS; round++) {
      const before = await countCommands(redis);
      const admitted = await runTurns(limiter, OPERATIONS, nextKey);
      if (admitted > 0) throw new Error(`admitted ${admitted} of a key that has nothing left`);
      const after = await countCommands(redis);
      counts.push(commandsPer(PER_REFUSALS / OPERATIONS, { before, after }));
    }
    const seconds = (performance.now() - startMs) / 1000;
    await store.close();
    return { counts, perSec: (ROUNDS * OPERATIONS) / seconds };
  });
}

function toFinding({ counts, perSec }: Rounds): Finding {
  const sent = counts.map(({ scripts }) => scripts);
  const { scripts, all } = meanCount(counts);
  return {
    subject:
      "sluice tokenBucket behind a deny cache, one exhausted key: commands for 100,000 refusals",
    subjectPerSec: perSec,
    value: scripts,
    spread: rangeOf(sent),
    note: `with what scripts call inside ${all.toPrecision(3)}`,
  };
}
