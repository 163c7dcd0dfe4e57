// A burst of new connections: 500 clients connect at the same time to a process that has just started, and send
// one request after the other. The figure is the 99th percentile of their response times in the first two seconds,
// over that of a bare node:http server in the same round.

import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn, median, summarise } from "../harness.js";
import { askForWaits, type ProxyName, startProxies } from "./proxies-load.js";

// More than elsewhere. With 500 first requests among some 50,000, the 99th percentile lies at the edge between those
// that waited to be accepted and all later ones, and falls on either side of it from round to round.
const ROUNDS = effort({ full: 21, quick: 1 });
const CONNECTIONS = 500;
const SECONDS = 2;

const SIDES = ["gateway", "refusing", "hello"] as const satisfies readonly ProxyName[];

/** The 99th percentile of each side in milliseconds, one figure for each round. */
type Waits = readonly (readonly number[])[];

export const ramp: Bench<Waits> = {
  id: "service/ramp",
  unit: "ratio",
  bound: { is: "at most", bar: 0.5, goal: 0.1 },
  parts: ["all"],
  runPart: measure,
  conclude: ([[through, refused, bare]]) => [
    toFinding("p99, requests through the gateway", through, bare),
    { ...toFinding("p99, refusals of the gateway", refused, bare), isJudged: false },
  ],
};

function toFinding(subject: string, ours: readonly number[], bare: readonly number[]): Finding {
  const { value, spread } = summarise(ours.map((ms, round) => ms / bare[round]));
  const note = `${median(ours).toFixed(0)} over ${median(bare).toFixed(0)} ms`;
  return { subject, reference: "node:http hello", ratio: value, value, spread, note };
}

/** Each side of a round has a process of its own, in which nothing is warm. */
async function measure(): Promise<Waits> {
  const waits = SIDES.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const i of inTurn([...SIDES.keys()], round)) {
      const { proxies, stop } = await startProxies([SIDES[i]]);
      try {
        waits[i].push(await askForWaits(proxies[0], CONNECTIONS, SECONDS));
      } finally {
        stop();
      }
    }
  }
  return waits;
}
