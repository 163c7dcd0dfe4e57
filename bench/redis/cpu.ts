// What a strict decision costs the server: processor time of Redis, over what one of
// rate-limiter-flexible costs it. Redis decides on one core, so this is what a server can carry.

import type { RedisProcess } from "sluice-test-servers";
import type { Bench, Finding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { type Contender, median, spreadOf } from "../harness.js";
import { flexibleConsumes, strictChecks } from "./contenders.js";
import { readCpuSeconds, withRedis } from "./server.js";

const KEYS = 100_000;
const OPERATIONS = 50_000;
const ROUNDS = 9;
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
    const costs = [await costUs(redis, subject), await costUs(redis, reference)];
    if (round < 0) continue;
    subjectUs.push(costs[0] as number);
    referenceUs.push(costs[1] as number);
  }
  return { subject: subject.name, reference: reference.name, subjectUs, referenceUs };
}

async function costUs(redis: RedisProcess, contender: Contender): Promise<number> {
  const before = await readCpuSeconds(redis);
  await contender.run(OPERATIONS);
  return (((await readCpuSeconds(redis)) - before) / OPERATIONS) * 1e6;
}

function toFinding({ subject, reference, subjectUs, referenceUs }: Costs): Finding {
  const ratio = median(subjectUs) / median(referenceUs);
  const ratios = subjectUs.map((us, round) => us / (referenceUs[round] as number));
  const us = (costs: readonly number[]) => `${median(costs).toFixed(2)} µs`;
  return {
    subject,
    reference,
    ratio,
    value: ratio,
    spread: spreadOf(ratios),
    note: `Redis spends ${us(subjectUs)} and ${us(referenceUs)} on a decision`,
  };
}
