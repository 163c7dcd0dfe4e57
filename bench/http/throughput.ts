// What a limiter costs a server: requests per processor second with it, over those of the same server without it,
// in short rounds that take turns. For a framework the figure is the share of throughput that is lost, over the
// share that its usual limiter loses in the same run.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn, median, summarise } from "../harness.js";
import { CPUS, type RunningSide, startSide } from "./load.js";
import type { Side } from "./server.js";

/** Rounds on each processor. */
const ROUNDS = effort({ full: 11, quick: 1 });
// After one second the compiler is still at work: Fastify, bare and with our limit, then took 10 to 17% more for a
// request than two seconds later, and on a busy machine up to half as much again.
const WARM_UP_SECONDS = effort({ full: 3, quick: 1 });
/** Turns of each side in a round: every side has one before any has its next. */
const SLICES = effort({ full: 2, quick: 1 });
const SLICE_SECONDS = 1;

/** Requests per second of each side, one figure for each round. */
type Rates = readonly (readonly number[])[];

export const node: Bench<Rates> = {
  id: "http/node",
  unit: "ratio",
  bound: { is: "at least", bar: 0.93, goal: 0.98 },
  parts: ["all"],
  runPart: () => takeTurns(["node/sluice", "node/bare"]),
  conclude: ([[limited, bare]]) => [
    toRatioFinding(
      {
        subject: "node:http with a memory rule",
        reference: "node:http",
        note: "nothing refused",
      },
      limited,
      bare,
    ),
  ],
};

export const express: Bench<Rates> = compareLosses("express", "express-rate-limit");
export const fastify: Bench<Rates> = compareLosses("fastify", "@fastify/rate-limit", [
  "sluice, X-RateLimit only",
]);

/** @param beside - Further sides, whose losses stand beside the figure that is judged. */
function compareLosses(
  framework: "express" | "fastify",
  peer: string,
  beside: readonly string[] = [],
): Bench<Rates> {
  const names = ["sluice", peer, "bare", ...beside];
  const sides = names.map((name) => `${framework}/${name}` as Side);
  return {
    id: `http/${framework}`,
    unit: "ratio",
    bound: { is: "at most", bar: 0.4, goal: 0.15 },
    parts: ["all"],
    runPart: () => takeTurns(sides),
    conclude: ([[ours, theirs, bare, ...others]]) => [
      toFinding(`sluice/${framework}`, peer, [ours, theirs, bare]),
      ...others.map((other, i) => ({
        ...toFinding(`${framework}/${beside[i]}`, peer, [other, theirs, bare]),
        isJudged: false,
      })),
    ],
  };
}

/** Over the median loss of the peer: the losses of single rounds are too small to divide by. */
function toFinding(subject: string, peer: string, [ours, theirs, bare]: Rates): Finding {
  const lossesOf = (rates: readonly number[]) => rates.map((perSec, i) => 1 - perSec / bare[i]);
  const lost = { ours: median(lossesOf(ours)), theirs: median(lossesOf(theirs)) };
  return {
    subject,
    reference: peer,
    subjectPerSec: median(ours),
    referencePerSec: median(theirs),
    ...summarise(lossesOf(ours).map((loss) => loss / lost.theirs)),
    note: `lost ${toPercent(lost.ours)} and ${toPercent(lost.theirs)} of ${Math.round(median(bare))} requests/s; nothing refused`,
  };
}

function toPercent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

/** All rounds, one after the other on each processor. What one processor does, the other hardly notices. */
async function takeTurns(names: readonly Side[]): Promise<Rates> {
  const lanes = await Promise.all(effort({ full: CPUS, quick: CPUS.slice(0, 1) }).map(takeRounds));
  return names.map((_, i) => lanes.flatMap((rates) => rates[i]));

  async function takeRounds(cpu: string): Promise<Rates> {
    const rates = names.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      const ofRound = await takeRound(inTurn([...names.keys()], round), names, cpu);
      for (const [i, rate] of ofRound.entries()) rates[i].push(rate);
    }
    return rates;
  }
}

/**
 * Each round has processes of its own: a server keeps the luck of its first collections and of how its code
 * came to lie in memory, which matters more than what is measured here. In each round the sides take turns second
 * by second, since a shared machine is not equally fast from one second to the next.
 */
async function takeRound(
  turns: readonly number[],
  names: readonly Side[],
  cpu: string,
): Promise<readonly number[]> {
  const sides: RunningSide[] = [];
  try {
    for (const i of turns) sides[i] = await startSide(names[i], cpu);
    for (const i of turns) await sides[i].ask(WARM_UP_SECONDS);
    const work = names.map(() => ({ requests: 0, cpuSeconds: 0 }));
    for (let slice = 0; slice < SLICES; slice++) {
      for (const i of inTurn(turns, slice)) {
        const { requests, cpuSeconds } = await sides[i].ask(SLICE_SECONDS);
        work[i].requests += requests;
        work[i].cpuSeconds += cpuSeconds;
      }
    }
    return work.map(({ requests, cpuSeconds }) => requests / cpuSeconds);
  } finally {
    for (const side of sides) side?.stop();
  }
}
