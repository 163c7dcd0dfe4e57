// `npm run bench`: measures Sluice beside a reference in the same run. Names choose benchmarks by
// the start of their id, and --quick runs them with small sizes; --json prints one line for each
// result, --markdown the tables of docs/benchmarks.md, and --write puts the results into the page.

import { readFileSync, writeFileSync } from "node:fs";
import type { Bench, Result } from "./bench.js";
import { benches, selectBenches } from "./catalogue.js";
import { type BenchOptions, readOptions } from "./options.js";
import { describeMachine, readCommit, toSections, writeResults } from "./page.js";
import { runBench } from "./processes.js";
import { toJsonLine, toText } from "./report.js";

const PAGE = "docs/benchmarks.md";
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const options = readArguments();
// Only the page needs it, and a benchmark should run outside a checkout too.
const startCommit = options.markdown || options.write ? readCommit() : "";
const startMs = performance.now();
const results: Result[] = [];
for (const bench of selectBenches(options.names)) {
  console.error(`running ${bench.id} …`);
  const benchStartMs = performance.now();
  results.push(...(await runOrReport(bench)));
  console.error(`${bench.id} took ${secondsSince(benchStartMs)} s`);
}
console.error(`all took ${secondsSince(startMs)} s`);
const origin = { machine: describeMachine(), commit: nameCommits() };
if (options.markdown) console.log([...toSections(results, origin).values()].join("\n\n"));
if (options.write) {
  const ids = benches.map(({ id }) => id);
  writeFileSync(PAGE, writeResults(readFileSync(PAGE, "utf8"), results, { ...origin, ids }));
  console.error(`wrote ${PAGE}`);
}

/** Runs a benchmark and prints what it found. If it fails, the results of the others are kept. */
async function runOrReport(bench: Bench): Promise<readonly Result[]> {
  try {
    const found = await runBench(bench);
    for (const result of found) {
      if (options.json) console.log(toJsonLine(result));
      else if (!options.markdown) console.log(`${toText(result)}\n`);
    }
    return found;
  } catch (error) {
    console.error(`${bench.id} failed: ${(error as Error).message}`);
    process.exitCode = EXIT_FAILED;
    return [];
  }
}

function readArguments(): BenchOptions {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(EXIT_USAGE);
  }
}

/** The commit that was measured; both if it changed between the start and the end of the run. */
function nameCommits(): string {
  const end = startCommit && readCommit();
  return startCommit === end ? end : `${startCommit} to ${end}`;
}

function secondsSince(ms: number): string {
  const seconds = (performance.now() - ms) / 1_000;
  return seconds.toFixed(seconds < 10 ? 1 : 0);
}
