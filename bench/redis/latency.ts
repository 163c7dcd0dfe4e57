// How long a single caller waits: the slowest of a hundred strict decisions, over the slowest of a hundred bare
// PINGs, in turns on the same connection. There are no other callers to share a call with.

import { createLimiter } from "sluice";
import { redisStore } from "sluice/redis";
import type { RedisProcess } from "sluice-test-servers";
import type { Bench, Finding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { collectGarbage, median, summarise } from "../harness.js";
import { RandomIds, toKey } from "../random.js";
import { checkStrictly, consume, flexibleLimiter, PATIENT } from "./contenders.js";
import { connectShared, withRedis } from "./server.js";

const KEYS = 100_000;
// Many: the slowest of a hundred is what a busy machine disturbs most.
const ROUNDS = effort({ full: 15, quick: 3 });
const WARM_UP_ROUNDS = 1;
const OPERATIONS = effort({ full: 4000, quick: 1000 });

/** Waits of one round, in microseconds. */
interface Waits {
  readonly p50: number;
  readonly p99: number;
}

/** The waits of all rounds, by what was waited for. */
type Report = Readonly<Record<"ping" | "sluice" | "flexible", readonly Waits[]>>;

export const latency: Bench<Report> = {
  id: "redis/latency",
  unit: "ratio",
  bound: { is: "at most", bar: 2.5, goal: 1.5 },
  parts: ["all"],
  runPart: () => withRedis(wait),
  conclude: (parts) =>
    parts.flatMap(({ ping, sluice, flexible }) => [
      toFinding("sluice tokenBucket, strict, one caller, p99", sluice, ping),
      {
        ...toFinding("rate-limiter-flexible RateLimiterRedis, one caller, p99", flexible, ping),
        isJudged: false,
      },
    ]),
};

async function wait(redis: RedisProcess): Promise<Report> {
  const client = await connectShared(redis);
  const limiter = createLimiter({ limit: generousBucket, store: redisStore(client), ...PATIENT });
  const peer = flexibleLimiter(client);
  const ids = new RandomIds(KEYS);
  const asks = {
    ping: () => client.ping(),
    sluice: () => checkStrictly(limiter, toKey(ids.next())),
    flexible: () => consume(peer, toKey(ids.next())),
  };
  const report: Record<keyof Report, Waits[]> = { ping: [], sluice: [], flexible: [] };
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const waits = await waitInTurns(asks);
    if (round < 0) continue;
    for (const side of Object.keys(report) as (keyof Report)[]) report[side].push(waits[side]);
  }
  return report;
}

async function waitInTurns(
  asks: Readonly<Record<keyof Report, () => Promise<unknown>>>,
): Promise<Record<keyof Report, Waits>> {
  collectGarbage("minor");
  const us = {
    ping: new Float64Array(OPERATIONS),
    sluice: new Float64Array(OPERATIONS),
    flexible: new Float64Array(OPERATIONS),
  };
  const sides = Object.keys(us) as (keyof Report)[];
  for (let i = 0; i < OPERATIONS; i++) {
    // The order changes, so that none always comes after the same one.
    for (let turn = 0; turn < sides.length; turn++) {
      const side = sides[(i + turn) % sides.length] as keyof Report;
      const startMs = performance.now();
      await asks[side]();
      us[side][i] = (performance.now() - startMs) * 1000;
    }
  }
  return { ping: toWaits(us.ping), sluice: toWaits(us.sluice), flexible: toWaits(us.flexible) };
}

function toWaits(us: Float64Array): Waits {
  const sorted = us.toSorted();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] as number;
  return { p50: at(0.5), p99: at(0.99) };
}

function toFinding(subject: string, waits: readonly Waits[], pings: readonly Waits[]): Finding {
  const ratios = waits.map(({ p99 }, round) => p99 / (pings[round] as Waits).p99);
  const middle = (rounds: readonly Waits[], share: keyof Waits) =>
    median(rounds.map((round) => round[share]));
  const { value, spread } = summarise(ratios);
  const us = (share: keyof Waits) =>
    `${share} ${middle(waits, share).toFixed(0)} and ${middle(pings, share).toFixed(0)} µs`;
  return {
    subject,
    reference: "PING on the same connection, p99",
    ratio: value,
    value,
    spread,
    note: `${us("p50")}, ${us("p99")}`,
  };
}
