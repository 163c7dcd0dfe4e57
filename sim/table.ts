// Results of runs for people: as a Markdown table, and as columns in a terminal.

import type { RunResult } from "./run.js";

const COLUMNS: readonly [string, (result: RunResult) => string][] = [
  ["scenario", ({ scenario }) => scenario],
  ["consistency", ({ consistency }) => consistency],
  ["across", ({ across = "–" }) => across],
  ["seed", ({ seed }) => `${seed}`],
  ["processes", ({ nodes }) => `${nodes}`],
  ["decisions", ({ decisions }) => decisions.toLocaleString("en")],
  ["above the limit", ({ overshoot }) => percent(overshoot)],
  ["promised", ({ overshootMax }) => (overshootMax === undefined ? "–" : percent(overshootMax))],
  ["refused early", ({ early }) => percent(early)],
  ["without the store", ({ fallback }) => percent(fallback)],
  ["fairness", ({ fairness }) => fairness.toFixed(3)],
  ["recovered after", ({ recoveryMs }) => toRecovery(recoveryMs)],
  [
    "decisions/s a process",
    ({ decisionsPerNodeSecond: each }) => Math.round(each).toLocaleString("en"),
  ],
  ["store calls/s", ({ storeCallsPerSecond: calls }) => Math.round(calls).toLocaleString("en")],
  ["store calls per 1,000", ({ storeCallsPerThousand }) => storeCallsPerThousand.toFixed(1)],
  ["bytes per 1,000", ({ bytesPerThousand }) => Math.round(bytesPerThousand).toLocaleString("en")],
  [
    "between regions",
    ({ distantBytesPerThousand: bytes }) =>
      bytes === undefined ? "–" : Math.round(bytes).toLocaleString("en"),
  ],
];

/** What runs found, as a Markdown table. */
export function toTable(results: readonly RunResult[]): string {
  const head = COLUMNS.map(([name]) => name);
  const rows = results.map((result) => COLUMNS.map(([, read]) => read(result)));
  return toMarkdown([head, ...rows], 3);
}

/** So that a line fits a terminal. */
const RUNS_OF_A_LINE = 5;

/** What runs of one scenario found, for a terminal: a column for each run, and a line for each figure. */
export function toListing(results: readonly RunResult[]): string {
  const blocks: string[] = [];
  for (let at = 0; at < results.length; at += RUNS_OF_A_LINE) {
    const runs = results.slice(at, at + RUNS_OF_A_LINE);
    const lines = COLUMNS.slice(1).map(([name, read]) => [name, ...runs.map(read)]);
    blocks.push(toColumns(lines));
  }
  return blocks.join("\n\n");
}

function toColumns(lines: readonly (readonly string[])[]): string {
  const widths = lines[0].map((_, i) => Math.max(...lines.map((cells) => cells[i].length)));
  const pad = (cell: string, i: number) =>
    i === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[i]);
  return lines.map((cells) => cells.map(pad).join("  ")).join("\n");
}

function toRecovery(recoveryMs: number | undefined): string {
  if (recoveryMs === undefined) return "–";
  return recoveryMs === Number.POSITIVE_INFINITY
    ? "not yet"
    : `${(recoveryMs / 1_000).toFixed(1)} s`;
}

/** A Markdown table of rows, the first of which is its head. All but the first `names` columns are numbers. */
export function toMarkdown(rows: readonly (readonly string[])[], names: number): string {
  const [head, ...others] = rows;
  const line = head.map((_, i) => (i < names ? "---" : "---:"));
  return [head, line, ...others].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A share as `3.40%`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 0)}%`;
}
