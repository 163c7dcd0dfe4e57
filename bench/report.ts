// How results are printed: a few lines for a terminal, one line of JSON for programs, and the words and figures
// that both share with the tables of docs/benchmarks.md.

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
    spread: result.spread ?? null,
    verdict: result.verdict ?? null,
    goalVerdict: result.goalVerdict ?? null,
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

/** Subject, reference and note in one cell. */
export function toDetail({
  subject,
  subjectPerSec,
  reference,
  referencePerSec,
  note,
}: Result): string {
  const over = reference === undefined ? "" : ` over ${reference}${toRate(referencePerSec)}`;
  return `${subject}${toRate(subjectPerSec)}${over}${note ? `. ${note}` : ""}`;
}

function toJudgement(result: Result): string {
  const { bound, unit } = result;
  if (bound === undefined) return "";
  const limits = (["bar", "goal"] as const)
    .filter((kind) => bound[kind] !== undefined)
    .map((kind) => `${kind} ${toLimit(bound, kind, unit)}`);
  return `  ${toVerdict(result) || "not judged"} (${limits.join(", ")})`;
}

/** What is reached, in words; empty if nothing was judged. */
export function toVerdict({ bound, verdict, goalVerdict }: Result): string {
  if (verdict === undefined || goalVerdict === undefined) return "";
  if (bound?.bar === undefined || goalVerdict === "reached") return `goal ${goalVerdict}`;
  if (verdict !== "reached") return verdict;
  return goalVerdict === "unclear" ? "bar reached, goal unclear" : "bar reached";
}

/** "≥ 2.00×"; empty if there is no such limit. */
export function toLimit({ is, bar, goal }: Bound, kind: "bar" | "goal", unit: Unit): string {
  const limit = kind === "bar" ? bar : goal;
  if (limit === undefined) return "";
  const sign = { "at least": "≥", "at most": "≤", below: kind === "bar" ? "<" : "≤" }[is];
  return `${sign} ${toFigure(limit, unit)}`;
}

/** "1.90× to 2.10×"; empty if there is none. */
export function toSpread({ spread, unit }: Result): string {
  if (spread === undefined) return "";
  return `${toFigure(spread[0], unit)} to ${toFigure(spread[1], unit)}`;
}

/** A value in its unit. */
export function toFigure(value: number, unit: Unit): string {
  switch (unit) {
    case "ratio":
      return `${value.toFixed(2)}×`;
    case "share":
      return value > 0 && value < 1 ? `1/${Number((1 / value).toPrecision(3))}` : value.toFixed(2);
    case "bytes per key":
      return `${value.toFixed(1)} B`;
    case "bytes":
      return `${value.toLocaleString("en")} B`;
    case "kB":
      return `${value.toFixed(1)} kB`;
    case "MB":
      return `${value.toFixed(1)} MB`;
    case "percent":
      return `${value.toFixed(4)}%`;
    case "ns":
      return `${value.toFixed(0)} ns`;
    case "ms":
      return `${value.toFixed(2)} ms`;
    case "commands":
      return String(Number(value.toPrecision(3)));
    case "entries/s":
    case "decisions/s":
      return `${toCount(value)} ${unit}`;
  }
}

function toRate(perSec: number | undefined): string {
  return perSec === undefined ? "" : ` (${toCount(perSec)}/s)`;
}

/** "1,234,567". */
export function toCount(count: number): string {
  return Math.round(count).toLocaleString("en");
}
