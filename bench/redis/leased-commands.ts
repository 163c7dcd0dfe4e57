// How often leases ask Redis: commands for each 1,000 decisions on one busy key, as fast as a process decides, and
// at the pace of a busy service.

import { createLimiter, type Limiter } from "sluice";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { rangeOf } from "../harness.js";
import { toKey } from "../random.js";
import { runPaced, runTurns } from "./callers.js";
import { hugeBucket, leasedOver } from "./leased.js";
import { type CommandCount, commandsPer, countCommands, meanCount, withRedis } from "./server.js";

const ROUNDS = effort({ full: 7, quick: 3 });
const OPERATIONS = effort({ full: 2_000_000, quick: 500_000 });
const PACED_ROUNDS = effort({ full: 3, quick: 1 });
const PACED_PER_SEC = 10_000;
const PACED_OPERATIONS = effort({ full: 30_000, quick: 10_000 });
const PER_DECISIONS = 1000;

type Traffic = "as fast as it goes" | "paced";

/** Commands for each 1,000 decisions, one count a round. */
interface Rounds {
  readonly traffic: Traffic;
  readonly counts: readonly CommandCount[];
  readonly admittedShare: number;
}

export const leasedCommands: Bench<Rounds> = {
  id: "redis/leased-commands",
  unit: "commands",
  bound: { is: "at most", bar: 2, goal: 0.5 },
  parts: ["as fast as it goes", "paced"] satisfies Traffic[],
  runPart: (part) => count(part as Traffic),
  conclude: (parts) => parts.map(toFinding),
};

function count(traffic: Traffic): Promise<Rounds> {
  return withRedis(async (redis) => {
    const store = await leasedOver(redis);
    const limiter = createLimiter({ limit: hugeBucket, store });
    const { rounds, operations, run } = toRun(traffic, limiter);
    const counts: CommandCount[] = [];
    // The first round, in which the key gets warm and leases find their size, does not count.
    await run();
    let admitted = 0;
    for (let round = 0; round < rounds; round++) {
      const before = await countCommands(redis);
      admitted += await run();
      const after = await countCommands(redis);
      counts.push(commandsPer(PER_DECISIONS / operations, { before, after }));
    }
    await store.close();
    return { traffic, counts, admittedShare: admitted / (rounds * operations) };
  });
}

function toRun(traffic: Traffic, limiter: Limiter<false>) {
  const nextKey = () => toKey(1);
  if (traffic === "paced") {
    const pace = { operations: PACED_OPERATIONS, perSec: PACED_PER_SEC };
    const run = () => runPaced(limiter, pace, nextKey);
    return { rounds: PACED_ROUNDS, operations: PACED_OPERATIONS, run };
  }
  const run = () => runTurns(limiter, OPERATIONS, nextKey);
  return { rounds: ROUNDS, operations: OPERATIONS, run };
}

function toFinding({ traffic, counts, admittedShare }: Rounds): Finding {
  const sent = counts.map(({ scripts }) => scripts);
  const { scripts, all } = meanCount(counts);
  const pace = traffic === "paced" ? `${PACED_PER_SEC.toLocaleString("en")}/s` : traffic;
  return {
    subject: `sluice tokenBucket, leased, one key, ${pace}: commands for 1,000 decisions`,
    value: scripts,
    spread: rangeOf(sent),
    note: `with what scripts call inside ${all.toPrecision(3)}; admitted ${admittedShare * 100}%`,
    isJudged: traffic !== "paced",
  };
}
