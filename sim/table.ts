// Results of runs as a table for people.

import type { RunResult } from "./run.js";

const COLUMNS: readonly [string, (result: RunResult) => string][] = [
  ["scenario", ({ scenario }) => scenario],
  ["consistency", ({ consistency }) => consistency],
  ["seed", ({ seed }) => `${seed}`],
  ["processes", ({ nodes }) => `${nodes}`],
  ["decisions", ({ decisions }) => decisions.toLocaleString("en")],
  ["above the limit", ({ overshoot }) => percent(overshoot)],
  ["promised", ({ overshootMax }) => (overshootMax === undefined ? "–" : percent(overshootMax))],
  ["refused early", ({ early }) => percent(early)],
  ["without the store", ({ fallback }) => percent(fallback)],
  ["store calls per 1,000", ({ storeCallsPerThousand }) => storeCallsPerThousand.toFixed(1)],
  ["bytes per 1,000", ({ bytesPerThousand }) => Math.round(bytesPerThousand).toLocaleString("en")],
];

/** A Markdown table. */
export function toTable(results: readonly RunResult[]): string {
  const rows = [
    COLUMNS.map(([name]) => name),
    COLUMNS.map((_, i) => (i < 2 ? "---" : "---:")),
    ...results.map((result) => COLUMNS.map(([, read]) => read(result))),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A share as `3.40%`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 0)}%`;
}
