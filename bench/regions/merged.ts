// What three regions admit together of a limit whose counts they merge, under three times as much traffic as it allows,
// with 200 ms there and back between any two of them. The simulator runs the library's own code on simulated time, so the
// figures are the same in every run. It runs as a command does.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";

const SEEDS = effort({ full: 5, quick: 1 });
const COMMAND = fileURLToPath(new URL("../../sim/main.js", import.meta.url));
/** What the limit of the scenario allows in all its windows. */
const UNITS = 30_000;

/** What the bench reads of a run. */
interface Run {
  readonly admitted: number;
  /** The most units above the limit at any instant, as a share of it. */
  readonly overshoot: number;
}

export const regionsMerged: Bench<readonly Run[]> = {
  id: "regions/merged",
  unit: "ratio",
  bound: { is: "at most", bar: 1.05, goal: 1.01 },
  parts: ["strict"],
  runPart: (consistency) => Array.from({ length: SEEDS }, (_, i) => run(consistency, i + 1)),
  conclude([runs]) {
    const most = Math.max(...runs.map(({ overshoot }) => overshoot));
    return [
      {
        subject: "fixed window of 10 s",
        ...summarise(runs.map(({ admitted }) => admitted / UNITS)),
        note: `at most ${(100 * most).toFixed(1)}% too many in any window`,
      },
    ];
  },
};

function run(consistency: string, seed: number): Run {
  const args = ["regions-overload", "--across", "merged", "--consistency", consistency];
  const line = execFileSync(process.execPath, [COMMAND, ...args, "--seed", `${seed}`, "--json"]);
  const { admitted, overshoot } = JSON.parse(line.toString()) as Run;
  return { admitted, overshoot };
}
