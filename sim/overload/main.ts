// `npm run sim:overload`: what fixed and adaptive limits make of an overloaded backend. With `--write` the tables go into
// the guide, with `--json` the goodput of each algorithm over the best fixed limit is printed for the benchmark.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ALGORITHMS } from "sluice/adaptive";
import { runOverload } from "./overload-run.js";
import { overloadScenarios } from "./overload-scenarios.js";
import { bestFixed, toTables } from "./overload-table.js";

const PAGE = "docs/guides/adaptive-limits.md";
/** What the tables of the page stand between. */
const TABLES =
  /(<!-- Written by `npm run sim:overload -- --write`\. -->\n)[\s\S]*?(<!-- End\. -->)/;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
if (values.json) console.log(JSON.stringify(compareHalf()));
else if (values.write) writePage();
else console.log(toTables(seed));

/** The goodput of each algorithm after capacity halved, over that of the best fixed limit. */
function compareHalf(): object {
  const scenario = overloadScenarios.find(({ name }) => name === "half");
  if (scenario === undefined) throw new RangeError("there is no scenario half");
  const best = bestFixed(scenario, seed);
  return { best, runs: ALGORITHMS.map((algorithm) => runOverload(scenario, algorithm, seed)) };
}

function writePage(): void {
  const path = join(process.cwd(), PAGE);
  const page = readFileSync(path, "utf8");
  writeFileSync(
    path,
    page.replace(TABLES, (_, start, end) => `${start}\n${toTables(seed)}\n\n${end}`),
  );
}
