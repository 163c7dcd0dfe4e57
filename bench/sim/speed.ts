// How fast the simulator is: decisions of a fleet of a thousand processes that it simulates in a second of processor time,
// building the fleet included. It runs as a command does. All its threads count, those of the garbage collector too: on an
// idle machine it makes at least as many decisions in a second of real time.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";

const ROUNDS = effort({ full: 15, quick: 1 });
const FACTOR = effort({ full: 1, quick: 0.05 });
const COMMAND = fileURLToPath(new URL("../../sim/main.js", import.meta.url));
/** As `npm run sim` starts it: most new objects die soon. */
const NODE_OPTIONS = ["--max-semi-space-size=64"];

/** What the bench reads of a run. */
interface Run {
  readonly decisions: number;
  readonly cpuMs: number;
  readonly storeCallsPerThousand: number;
}

export const simSpeed: Bench<readonly Run[]> = {
  id: "sim/speed",
  unit: "decisions/s",
  bound: { is: "at least", bar: 300_000, goal: 1_000_000 },
  parts: ["leased"],
  runPart: () => Array.from({ length: ROUNDS }, (_, i) => run(i + 1)),
  conclude([runs]) {
    const [{ storeCallsPerThousand }] = runs;
    return [
      {
        subject: "fleet, 1,000 processes, leased",
        ...summarise(runs.map(({ decisions, cpuMs }) => (1_000 * decisions) / cpuMs)),
        note: `${Math.round(storeCallsPerThousand)} of 1,000 decisions ask the store`,
      },
    ];
  },
};

function run(seed: number): Run {
  const args = ["fleet", "--consistency", "leased", "--seed", `${seed}`, "--factor", `${FACTOR}`];
  const line = execFileSync(process.execPath, [...NODE_OPTIONS, COMMAND, ...args, "--json"]);
  const { decisions, cpuMs, storeCallsPerThousand } = JSON.parse(line.toString()) as Run;
  return { decisions, cpuMs, storeCallsPerThousand };
}
