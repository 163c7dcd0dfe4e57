// `npm run bench`: measures Sluice beside a reference in the same run. Names choose benchmarks by
// the start of their id; --json prints one line for each result, --markdown the tables of
// docs/benchmarks.md, and --write puts those into the page.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Result } from "./bench.js";
import { benches, selectBenches, unknownNames } from "./catalogue.js";
import { runBench } from "./processes.js";
import {
  describeMachine,
  readCommit,
  replaceSections,
  toJsonLine,
  toSections,
  toText,
} from "./report.js";

const PAGE = "docs/benchmarks.md";
const EXIT_USAGE = 2;

const { values: flags, positionals: names } = readArguments();
const unknown = unknownNames(names);
if (unknown.length > 0) {
  const ids = benches.map(({ id }) => `  ${id}`).join("\n");
  fail(`no benchmark starts with "${unknown.join('", "')}"; there are\n${ids}`);
}
// A page of figures from several commits would have one commit written above them.
if (flags.write && names.length > 0) fail("--write needs a run of all benchmarks: name none");

// Only the page needs it, and a benchmark should run outside a checkout too.
const startCommit = flags.markdown || flags.write ? readCommit() : "";
const results: Result[] = [];
for (const bench of selectBenches(names)) {
  console.error(`running ${bench.id} …`);
  for (const result of await runBench(bench)) {
    results.push(result);
    if (flags.json) console.log(toJsonLine(result));
    else if (!flags.markdown) console.log(`${toText(result)}\n`);
  }
}
if (flags.markdown || flags.write) {
  const machine = describeMachine({ start: startCommit, end: readCommit() });
  const sections = toSections(results, machine);
  if (flags.markdown) console.log([...sections.values()].join("\n\n"));
  if (flags.write) {
    writeFileSync(PAGE, replaceSections(readFileSync(PAGE, "utf8"), sections));
    console.error(`wrote ${PAGE}`);
  }
}

function readArguments() {
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: flag, markdown: flag, write: flag },
    });
  } catch (error) {
    return fail((error as Error).message);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(EXIT_USAGE);
}
