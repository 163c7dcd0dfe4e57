// Reads the report of `sluice replay --json` out of a file. The file may be anything: what is shown is checked first, and
// the rest of it is not looked at.

import type { ReplayReport } from "sluice-server/api";

/** A rule or a key of a report, as it is shown. */
export interface ShownRow {
  readonly name: string;
  /** The rule that refused; only of keys. */
  readonly rule: string;
  /** Requests that it counted; only of rules. */
  readonly matched: number;
  readonly refused: number;
  readonly refusedBefore: number | undefined;
  readonly firstMs: number | undefined;
  readonly series: readonly number[];
}

/** What is shown of a report. */
export interface ShownReport {
  readonly rules: string;
  readonly against: string | undefined;
  readonly requests: number;
  readonly refused: number;
  readonly refusedBefore: number | undefined;
  readonly callers: number;
  readonly callersRefused: number;
  readonly traffic: readonly number[];
  readonly refusals: readonly number[];
  readonly byRule: readonly ShownRow[];
  readonly byKey: readonly ShownRow[];
  /** What the report does not show. */
  readonly notes: readonly string[];
}

/** The largest file that is read. */
export const REPORT_BYTES_MAX = 16_000_000;
/** The format that is known. */
const VERSION: ReplayReport["sluiceReplay"] = 1;
const ROWS_MAX = 200;
const STEPS_MAX = 1_000;
const LENGTH_MAX = 2_000;

/** The report in a file. @throws Error with what is wrong, for people. */
export function readReport(text: string): ShownReport {
  const report = parse(text);
  if (report.sluiceReplay !== VERSION)
    throw new Error("This is not a report of sluice replay --json, or one of another version.");
  const against = report.against === null ? undefined : toText(toObject(report.against).file);
  const [requests, callers, series] = [report.requests, report.callers, report.series].map(
    toObject,
  );
  return {
    rules: toText(toObject(report.rules).file),
    against,
    requests: toCount(requests?.total),
    refused: toCount(requests?.refused),
    refusedBefore: toOptional(requests?.refusedBefore),
    callers: toCount(callers?.total),
    callersRefused: toCount(callers?.refused),
    traffic: toCounts(series?.requests),
    refusals: toCounts(series?.refused),
    byRule: toList(report.byRule).map((each) => toRow(each, toObject(each).rule)),
    byKey: toList(report.byKey).map((each) => toRow(each, toObject(each).key)),
    notes: [
      ...toList(report.notes).map((note) => sayNote(toObject(note), against)),
      ...toList(report.remarks).map(toText),
    ],
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parse(text: string): Fields {
  try {
    return toObject(JSON.parse(text));
  } catch {
    throw new Error("The file is not JSON. Make one with sluice replay … --json > report.json");
  }
}

function sayNote({ rule, why, isLeftOut, isAgainst }: Fields, against: string | undefined): string {
  const of = isAgainst === true && against !== undefined ? `${against}: ` : "";
  return `${of}${toText(rule)}${isLeftOut === true ? " was left out" : ""}: ${toText(why)}`;
}

function toRow(value: unknown, name: unknown): ShownRow {
  const { rule, matched, refused, refusedBefore, firstMs, series } = toObject(value);
  return {
    name: name === null ? "–" : toText(name),
    rule: rule === null ? "–" : toText(rule),
    matched: matched === undefined ? 0 : toCount(matched),
    refused: toCount(refused),
    refusedBefore: toOptional(refusedBefore),
    firstMs: toOptional(firstMs),
    series: toCounts(series),
  };
}

function toObject(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged();
  return value as Fields;
}

function toList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw damaged();
  return value.slice(0, ROWS_MAX);
}

function toText(value: unknown): string {
  if (typeof value !== "string") throw damaged();
  return value.slice(0, LENGTH_MAX);
}

function toCount(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0) || !Number.isFinite(value)) throw damaged();
  return value;
}

function toOptional(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : toCount(value);
}

function toCounts(value: unknown): readonly number[] {
  if (!Array.isArray(value)) throw damaged();
  return value.slice(0, STEPS_MAX).map(toCount);
}

function damaged(): Error {
  return new Error("The report is damaged: a field is missing or has another type.");
}
