// `npm run sim -- SCENARIO`: runs a scenario under each consistency and prints what was found. A run that breaks a
// promise prints its seed and the shortest list of faults with which it still does.

import { parseArgs } from "node:util";
import { brokenPromise } from "./bounds.js";
import { FLEET, writeNeeds, writeScalePage } from "./report/scale-page.js";
import {
  type Agreement,
  agreementsOf,
  type RunOptions,
  type RunResult,
  runWithRecovery,
} from "./run.js";
import { scenarioOf, scenarios } from "./scenarios.js";
import { toReport } from "./shrink.js";
import { toListing, toTable } from "./table.js";
import { CONSISTENCIES } from "./world/node.js";
import { ACROSS } from "./world/regional-policy.js";

const USAGE = `npm run sim -- SCENARIO [options]

SCENARIO is "all" or one of
${scenarios.map(({ name, about }) => `  ${name.padEnd(22)} ${about}`).join("\n")}

  --consistency NAME  strict, leased, eventual or local; default: each
  --across NAME       each, central, split, learned, leased or merged, for scenarios with regions; default: all
  --seed N            seed of the random numbers; default 1
  --seeds N           runs this many seeds, from --seed on; default 1
  --nodes N           how many processes; default: what the scenario says
  --factor N          multiplies the scenario's traffic by N; default 1
  --json              one line of JSON for each run
  --write             writes docs/scale.md and its plots; for "all" with one seed. For "fleet": writes what the load needs,
                      after the benchmarks were measured again`;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const { isJson, isWriting, runs } = readArguments();
const results: RunResult[] = [];
for (const run of runs) {
  const result = await runWithRecovery(run);
  results.push(result);
  if (isJson) console.log(JSON.stringify(result));
  const broken = brokenPromise(result);
  if (broken === undefined) continue;
  process.exitCode = EXIT_FAILED;
  console.error(await toReport(run, broken));
}
if (!isJson) console.log(toText(results));
if (isWriting) writeIt(results, process.cwd());

/** The whole page, or of one scenario the part that it answers. */
function writeIt(found: readonly RunResult[], root: string): void {
  if (found.every(({ scenario }) => scenario === FLEET)) writeNeeds(found, root);
  else writeScalePage(found, root);
}

/** All scenarios as a table for a page, one scenario as a list for a terminal. */
function toText(found: readonly RunResult[]): string {
  const [{ scenario }] = found;
  if (found.some((each) => each.scenario !== scenario)) return toTable(found);
  const { about } = scenarioOf(scenario);
  return `${scenario}: ${about}\n\n${toListing(found)}\n\nsim/README.md says what the figures mean.`;
}

function readArguments(): { isJson: boolean; isWriting: boolean; runs: readonly RunOptions[] } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        consistency: { type: "string" },
        across: { type: "string" },
        seed: { type: "string", default: "1" },
        seeds: { type: "string", default: "1" },
        nodes: { type: "string" },
        factor: { type: "string", default: "1" },
        json: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
      },
    });
    if (positionals.length !== 1) throw new RangeError("name one scenario, or all");
    const [name] = positionals;
    const chosen = name === "all" ? scenarios : [scenarioOf(name)];
    const seed = toWhole("seed", values.seed);
    const seeds = Array.from({ length: toWhole("seeds", values.seeds) }, (_, i) => seed + i);
    const nodes = values.nodes === undefined ? {} : { nodes: toWhole("nodes", values.nodes) };
    const factor = toNumber("factor", values.factor);
    const consistency = toChoice("consistency", values.consistency, CONSISTENCIES);
    const across = toChoice("across", values.across, ACROSS);
    const isChosen = (agreement: Agreement) =>
      (consistency === undefined || agreement.consistency === consistency) &&
      (across === undefined || agreement.across === across);
    const runs = chosen.flatMap((scenario) =>
      seeds.flatMap((each) =>
        agreementsOf(scenario)
          .filter(isChosen)
          .map((agreement) => ({ scenario, ...agreement, seed: each, factor, ...nodes })),
      ),
    );
    if (runs.length === 0)
      throw new RangeError(`no run of ${name} has that consistency and across`);
    const isWhole = seeds.length === 1 && consistency === undefined && across === undefined;
    if (values.write && !(isWhole && (name === "all" || name === FLEET)))
      throw new RangeError(`--write needs all, or ${FLEET}, under every agreement, with one seed`);
    return { isJson: values.json, isWriting: values.write, runs };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

function toWhole(name: string, text: string): number {
  const value = toNumber(name, text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`--${name} must be a whole number, got ${JSON.stringify(text)}`);
}

function toNumber(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new RangeError(`--${name} must be a number above 0, got ${JSON.stringify(text)}`);
}

function toChoice<T extends string>(
  option: string,
  name: string | undefined,
  choices: readonly T[],
): T | undefined {
  if (name === undefined) return undefined;
  const found = choices.find((each) => each === name);
  if (found !== undefined) return found;
  throw new RangeError(
    `--${option} must be one of ${choices.join(", ")}, got ${JSON.stringify(name)}`,
  );
}
