// The generated tables of docs/benchmarks.md. Each row names the commit that it was measured at, so a run of
// some benchmarks can replace their rows and keep the others.

import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import type { Result } from "./bench.js";
import { toCount, toDetail, toFigure, toLimit, toSpread, toVerdict } from "./report.js";

/** Where results come from. */
export interface Origin {
  readonly machine: string;
  readonly commit: string;
}

const MACHINE = "machine";
const RESULTS = "results";
/** Benchmarks with a table of their own, by the name of its section. */
const LISTED_APART: ReadonlyMap<string, string> = new Map([
  ["memory/algorithms", "algorithms"],
  ["memory/floor", "floor"],
]);

/** The names of all sections that a run of all benchmarks rewrites. */
export const SECTIONS: readonly string[] = [MACHINE, RESULTS, ...LISTED_APART.values()];

const RESULT_HEAD = ["bench", "value", "spread", "bar", "goal", "verdict", "in detail", "commit"];
const ALGORITHM_HEAD = ["subject", "checks/s", "ns", "bare Map/s", "over Map", "spread", "commit"];
const FLOOR_HEAD = ["step", "ns", "spread", "note", "commit"];

/** The commit that is checked out, and whether what is measured differs from it. */
export function readCommit(): string {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", "packages/*/src", "bench") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
}

/** Processor and Node. */
export function describeMachine(): string {
  const cores = cpus();
  const model = (cores[0]?.model ?? "unknown processor").trim();
  return `${model}, ${cores.length} cores, Node ${process.version}`;
}

/**
 * `page` with the results in its tables. Rows of benchmarks that did not run stay; those of ids that are no
 * longer there go. Throws if rows would stay that were measured on another machine.
 */
export function writeResults(
  page: string,
  results: readonly Result[],
  { ids, ...origin }: Origin & { readonly ids: readonly string[] },
): string {
  const ran = new Set(results.map(({ bench }) => bench));
  const [from, to] = boundsOf(page, MACHINE);
  const machine = page.slice(from, to).trim();
  if (machine !== origin.machine && ids.some((id) => !ran.has(id))) {
    throw new Error(
      `the page has figures of ${machine}, this is ${origin.machine}: run all benchmarks`,
    );
  }
  const sections = new Map(toSections(results, origin));
  const [start, end] = boundsOf(page, RESULTS);
  const kept = rowsOf(page.slice(start, end)).filter(({ id }) => !ran.has(id));
  const rows = [...kept, ...rowsOf(sections.get(RESULTS) ?? "")];
  const lines = ids.flatMap((id) => rows.filter((row) => row.id === id).map(({ line }) => line));
  sections.set(RESULTS, [...headLines(RESULT_HEAD), ...lines].join("\n"));
  return replaceSections(page, sections);
}

/** The sections of the page that these results fill, by the name of their markers. */
export function toSections(
  results: readonly Result[],
  { machine, commit }: Origin,
): ReadonlyMap<string, string> {
  const of = (id: string) => results.filter(({ bench }) => bench === id);
  const table = (
    head: readonly string[],
    rows: readonly Result[],
    toCells: (result: Result) => readonly string[],
  ) =>
    toTable(
      head,
      rows.map((result) => [...toCells(result), commit]),
    );
  const others = results.filter(({ bench }) => !LISTED_APART.has(bench));
  const sections = new Map([
    [MACHINE, machine],
    [RESULTS, table(RESULT_HEAD, others, toCells)],
    ["algorithms", table(ALGORITHM_HEAD, of("memory/algorithms"), toAlgorithmCells)],
    ["floor", table(FLOOR_HEAD, of("memory/floor"), toFloorCells)],
  ]);
  return new Map([...sections].filter(([, text]) => text !== ""));
}

/** `page` with the text between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` replaced. */
export function replaceSections(page: string, sections: ReadonlyMap<string, string>): string {
  return [...sections].reduce((text, [name, section]) => {
    const [from, to] = boundsOf(text, name);
    return `${text.slice(0, from)}\n${section}\n${text.slice(to)}`;
  }, page);
}

/** Where the text between the markers of a section starts and ends. */
function boundsOf(page: string, name: string): readonly [number, number] {
  const [start, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no ${start} … ${end} in the page`);
  return [from + start.length, to];
}

function rowsOf(table: string): readonly { readonly id: string; readonly line: string }[] {
  return table.split("\n").flatMap((line) => {
    const id = /^\| `([^`]+)` \|/.exec(line)?.[1];
    return id === undefined ? [] : [{ id, line }];
  });
}

function toCells(result: Result): readonly string[] {
  const { bench, value, unit, bound } = result;
  const limit = (kind: "bar" | "goal") => (bound === undefined ? "" : toLimit(bound, kind, unit));
  return [
    `\`${bench}\``,
    `**${toFigure(value, unit)}**`,
    toSpread(result),
    limit("bar"),
    limit("goal"),
    toVerdict(result),
    toDetail(result),
  ];
}

function toAlgorithmCells(result: Result): readonly string[] {
  const { subject, subjectPerSec = Number.NaN, referencePerSec = Number.NaN, value } = result;
  return [
    subject.replace("sluice ", ""),
    toCount(subjectPerSec),
    (1e9 / subjectPerSec).toFixed(0),
    toCount(referencePerSec),
    toFigure(value, "ratio"),
    toSpread(result),
  ];
}

function toFloorCells(result: Result): readonly string[] {
  return [result.subject, result.value.toFixed(0), toSpread(result), result.note ?? ""];
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  return [...headLines(head), ...rows.map(toLine)].join("\n");
}

function headLines(head: readonly string[]): readonly string[] {
  return [toLine(head), `|${head.map(() => "---|").join("")}`];
}

/** A bare "<" would begin a tag. */
function toLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ").replaceAll("<", "\\<")} |`;
}
