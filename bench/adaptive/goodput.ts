// What adaptive limits make of a backend that loses half of its capacity, over the best fixed limit chosen in hindsight:
// responses in time, in the simulated overload. The time in which the limit still has to fall counts too, and so do
// probes. Nothing is timed, so a busy machine changes nothing. No algorithm was tuned on the seeds that are used here.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";

const SEEDS = effort({ full: 9, quick: 1 });
/** Small seeds are those of the guide and of the tests, on which the algorithms were tuned. */
const FIRST_SEED = 982_451_653;
const COMMAND = fileURLToPath(new URL("../../sim/overload/main.js", import.meta.url));

/** What the bench reads of a run. */
interface Run {
  readonly contender: number | string;
  readonly goodputPerSec: number;
  readonly p99Ms: number;
}

/** The best fixed limit beside each algorithm, from one seed. */
interface Comparison {
  readonly best: Run;
  readonly runs: readonly Run[];
}

export const goodput: Bench<readonly Comparison[]> = {
  id: "adaptive/goodput",
  unit: "ratio",
  bound: { is: "at least", bar: 0.85, goal: 0.95 },
  parts: ["half"],
  runPart: () => Array.from({ length: SEEDS }, (_, i) => compare(FIRST_SEED + i)),
  conclude([comparisons]) {
    return comparisons[0].runs.map(({ contender }, i) => ({
      subject: `${contender}, after half of the workers are gone`,
      reference: "the best fixed limit",
      ...summarise(comparisons.map(({ best, runs }) => ratioOf(runs[i], best))),
      note: `p99 ${toMs(comparisons[0].runs[i])}, of the fixed limit ${toMs(comparisons[0].best)}`,
    }));
  },
};

function ratioOf(run: Run, best: Run): number {
  return run.goodputPerSec / best.goodputPerSec;
}

function toMs({ p99Ms }: Run): string {
  return `${Math.round(p99Ms)} ms`;
}

function compare(seed: number): Comparison {
  const line = execFileSync(process.execPath, [COMMAND, "--json", "--seed", `${seed}`]);
  return JSON.parse(line.toString()) as Comparison;
}
