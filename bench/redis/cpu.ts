// What a strict decision costs the server: processor time of Redis, over what a decision of rate-limiter-flexible
// costs it. Redis decides on one core, so this determines how many decisions a server can make.

import type { RedisProcess } from "sluice-test-servers";
import type { Bench, Finding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { type Contender, inTurn, median, summarise } from "../harness.js";
import { flexibleConsumes, strictChecks } from "./contenders.js";
import { readCpuSeconds, withRedis } from "./server.js";

const KEYS = effort({ full: 100_000, quick: 20_000 });
const OPERATIONS = effort({ full: 50_000, quick: 20_000 });
const ROUNDS = effort({ full: 9, quick: 3 });
const WARM_UP_ROUNDS = 1;

/** Microseconds of Redis for each decision, one figure a round. */
interface Costs {
  readonly subject: string;
  readonly reference: string;
  readonly subjectUs: readonly number[];
  readonly referenceUs: readonly number[];
}

export const cpu: Bench<Costs> = {
  id: "redis/cpu",
  unit: "ratio",
  bound: { is: "at most", bar: 0.6, goal: 0.35 },
  parts: ["all"],
  runPart: () => withRedis(weigh),
  conclude: (parts) => parts.map(toFinding),
};

async function weigh(redis: RedisProcess): Promise<Costs> {
  const name = "sluice tokenBucket, strict";
  const subject = await strictChecks(redis, { name, limit: generousBucket, keys: KEYS });
  const reference = await flexibleConsumes(redis, KEYS);
  const [subjectUs, referenceUs]: [number[], number[]] = [[], []];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const side of inTurn([subject, reference], round)) {
      const us = await costUs(redis, side);
      if (round >= 0) (side === subject ? subjectUs : referenceUs).push(us);
    }
  }
  return { subject: subject.name, reference: reference.name, subjectUs, referenceUs };
}

async function costUs(redis: RedisProcess, contender: Contender): Promise<number> {
  const before = await readCpuSeconds(redis);
  await contender.run(OPERATIONS);
  return (((await readCpuSeconds(redis)) - before) / OPERATIONS) * 1e6;
}

function toFinding({ subject, reference, subjectUs, referenceUs }: Costs): Finding {
  const ratios = subjectUs.map((us, round) => us / (referenceUs[round] as number));
  const { value, spread } = summarise(ratios);
  const us = (costs: readonly number[]) => `${median(costs).toFixed(2)} µs`;
  return {
    subject,
    reference,
    ratio: value,
    value,
    spread,
    note: `Redis spends ${us(subjectUs)} and ${us(referenceUs)} on a decision`,
  };
}
