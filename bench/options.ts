// The command line of `npm run bench`: names choose benchmarks by the start of their id, and options
// say how much is measured and where the results go.

import { parseArgs } from "node:util";
import { benches, unknownNames } from "./catalogue.js";

/** What was asked for. */
export interface BenchOptions {
  /** Starts of ids; empty means all. */
  readonly names: readonly string[];
  /** Every benchmark once with small sizes; `effort.ts` reads the same option. */
  readonly quick: boolean;
  /** One line of JSON for each result. */
  readonly json: boolean;
  /** The tables of docs/benchmarks.md. */
  readonly markdown: boolean;
  /** Those tables written into the page. */
  readonly write: boolean;
}

/** Reads the arguments; throws an error that explains what is wrong with them. */
export function readOptions(args: readonly string[]): BenchOptions {
  const flag = { type: "boolean", default: false } as const;
  const { values, positionals: names } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { quick: flag, json: flag, markdown: flag, write: flag },
  });
  const unknown = unknownNames(names);
  if (unknown.length > 0) {
    const ids = benches.map(({ id }) => `  ${id}`).join("\n");
    throw new Error(`no benchmark starts with "${unknown.join('", "')}"; there are\n${ids}`);
  }
  if (values.write && values.quick) {
    throw new Error("--write needs full sizes: leave out --quick");
  }
  return { names, ...values };
}
