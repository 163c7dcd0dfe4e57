// How results are shown: a table for a terminal, one JSON line for each for machines, and the
// generated parts of docs/benchmarks.md.

import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import type { Bound, Result, Unit } from "./bench.js";

/** One line of JSON; what does not apply is null. */
export function toJsonLine(result: Result): string {
  return JSON.stringify({
    bench: result.bench,
    subject: result.subject,
    reference: result.reference ?? null,
    subjectPerSec: result.subjectPerSec ?? null,
    referencePerSec: result.referencePerSec ?? null,
    ratio: result.ratio ?? null,
    value: result.value,
    unit: result.unit,
    bar: result.bound?.bar ?? null,
    goal: result.bound?.goal ?? null,
    ok: result.ok ?? null,
    spread: result.spread ?? null,
    note: result.note ?? null,
  });
}

/** A few lines for a terminal. */
export function toText(result: Result): string {
  const value = toFigure(result.value, result.unit);
  const spread = result.spread === undefined ? "" : `  (${toSpread(result)})`;
  const verdict = `${value}${spread}${toJudgement(result)}`;
  const rates = [result.subjectPerSec, result.referencePerSec].map(toRate);
  const sides = [result.subject, result.reference].flatMap((name, i) =>
    name === undefined ? [] : [`    ${name}${rates[i]}`],
  );
  const note = result.note ? [`    ${result.note}`] : [];
  return [`${result.bench.padEnd(26)} ${verdict}`, ...sides, ...note].join("\n");
}

/** The commit that is checked out, and whether what is measured differs from it. */
export function readCommit(): string {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", "packages/*/src", "bench") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
}

/** Processor, Node and commit; both commits if it changed between the start and the end of a run. */
export function describeMachine(commits: { start: string; end: string }): string {
  const cores = cpus();
  const model = (cores[0]?.model ?? "unknown processor").trim();
  const { start, end } = commits;
  const commit = start === end ? start : `${start} at the start, ${end} at the end`;
  return `${model}, ${cores.length} cores, Node ${process.version}, commit ${commit}`;
}

/** The sections of docs/benchmarks.md that a full run rewrites, by the name of their markers. */
export function toSections(
  results: readonly Result[],
  machine: string,
): ReadonlyMap<string, string> {
  const of = (id: string) => results.filter(({ bench }) => bench === id);
  const others = results.filter(({ bench }) => !LISTED_APART.includes(bench));
  const sections = new Map([
    ["machine", machine],
    ["results", toTable(RESULT_HEAD, others.map(toRow))],
    ["algorithms", toTable(ALGORITHM_HEAD, of("memory/algorithms").map(toAlgorithmRow))],
    ["floor", toTable(FLOOR_HEAD, of("memory/floor").map(toFloorRow))],
  ]);
  return new Map([...sections].filter(([, text]) => text !== ""));
}

/** `page` with the text between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` replaced. */
export function replaceSections(page: string, sections: ReadonlyMap<string, string>): string {
  return [...sections].reduce((text, [name, section]) => {
    const [start, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
    const [from, to] = [text.indexOf(start), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`no ${start} … ${end} in the page`);
    return `${text.slice(0, from + start.length)}\n${section}\n${text.slice(to)}`;
  }, page);
}

const LISTED_APART = ["memory/algorithms", "memory/floor"];
const RESULT_HEAD = ["bench", "value", "rounds", "bar", "goal", "reached", "in detail"];
const ALGORITHM_HEAD = ["subject", "checks/s", "ns", "bare Map/s", "over Map", "rounds"];
const FLOOR_HEAD = ["step", "ns", "rounds", "note"];

function toRow(result: Result): readonly string[] {
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

function toDetail({ subject, subjectPerSec, reference, referencePerSec, note }: Result): string {
  const over = reference === undefined ? "" : ` over ${reference}${toRate(referencePerSec)}`;
  return `${subject}${toRate(subjectPerSec)}${over}${note ? `. ${note}` : ""}`;
}

function toAlgorithmRow(result: Result): readonly string[] {
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

function toFloorRow(result: Result): readonly string[] {
  return [result.subject, result.value.toFixed(0), toSpread(result), result.note ?? ""];
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  // A bare "<" would begin a tag.
  const line = (cells: readonly string[]) => `| ${cells.join(" | ").replaceAll("<", "\\<")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

function toJudgement(result: Result): string {
  const { bound, unit } = result;
  if (bound === undefined) return "";
  const limits = (["bar", "goal"] as const)
    .filter((kind) => bound[kind] !== undefined)
    .map((kind) => `${kind} ${toLimit(bound, kind, unit)}`);
  return `  reaches ${toVerdict(result)} (${limits.join(", ")})`;
}

function toVerdict({ bound, ok, reachesGoal }: Result): string {
  if (ok === undefined) return "";
  if (reachesGoal) return "goal";
  return ok && bound?.bar !== undefined ? "bar" : "neither";
}

function toLimit({ is, bar, goal }: Bound, kind: "bar" | "goal", unit: Unit): string {
  const limit = kind === "bar" ? bar : goal;
  if (limit === undefined) return "";
  const sign = { "at least": "≥", "at most": "≤", below: kind === "bar" ? "<" : "≤" }[is];
  return `${sign} ${toFigure(limit, unit)}`;
}

function toSpread({ spread, unit }: Result): string {
  if (spread === undefined) return "";
  return `${toFigure(spread[0], unit)} to ${toFigure(spread[1], unit)}`;
}

function toFigure(value: number, unit: Unit): string {
  switch (unit) {
    case "ratio":
      return `${value.toFixed(2)}×`;
    case "share":
      return value > 0 && value < 1 ? `1/${Number((1 / value).toPrecision(3))}` : value.toFixed(2);
    case "bytes per key":
      return `${value.toFixed(1)} B`;
    case "bytes":
      return `${value.toLocaleString("en")} B`;
    case "percent":
      return `${value.toFixed(4)}%`;
    case "ns":
      return `${value.toFixed(0)} ns`;
    case "commands":
      return String(Number(value.toPrecision(3)));
  }
}

function toRate(perSec: number | undefined): string {
  return perSec === undefined ? "" : ` (${toCount(perSec)}/s)`;
}

function toCount(count: number): string {
  return Math.round(count).toLocaleString("en");
}
