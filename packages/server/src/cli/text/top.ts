// The frame that `sluice top` draws: how busy each rule is, and which keys make it so. Pure: a report and
// the size of the terminal in, lines out.

import type { RuleRate, TopKey, TopReport } from "../../telemetry/top/top-report.js";
import { type Colours, safe } from "./colours.js";
import { type Align, clip, formatTable } from "./table.js";

/** What a frame is drawn from. */
export interface TopView {
  /** Where the service is. */
  readonly name: string;
  /** The version of the rules in force; undefined if it is not known. */
  readonly version: string | undefined;
  readonly report: TopReport;
  /** Why the numbers are old; undefined if they are not. */
  readonly problem?: string | undefined;
}

/** How much room there is, in characters; columns may be Infinity, where nothing is cut. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Lines that a frame has besides its rules and keys: title, heads, blank lines, and one for those left out. */
const FIXED_LINES = 6;
const NAME_LENGTH_MAX = 32;
const NUMBERS: readonly Align[] = ["left", "left", "right", "right", "right", "right", "right"];
const KEYS: readonly Align[] = ["left", "left", "right"];

/** The lines of a frame: never more than fit, the busiest first. */
export function drawTop(view: TopView, room: ScreenSize, colours: Colours): string[] {
  const { rules, hottest, mostRefused } = view.report;
  // Keys get the half that rules leave, and rules what keys don't need.
  const free = Math.max(2, room.rows - FIXED_LINES);
  const keyRows = Math.min(Math.max(hottest.length, mostRefused.length, 1), Math.ceil(free / 2));
  const ruleRows = Math.max(1, free - keyRows);
  return [
    sayTitle(view, room, colours),
    "",
    ...drawRules(rules, ruleRows).map((line, i) => paint(clip(line, room.columns), i, colours)),
    "",
    ...drawKeys(view.report, keyRows, room).map((line, i) =>
      paint(clip(line, room.columns), i, colours),
    ),
  ];
}

function sayTitle(
  { name, version, report, problem }: TopView,
  { columns }: ScreenSize,
  colours: Colours,
): string {
  if (problem !== undefined) return colours.bad(clip(safe(problem, columns), columns));
  const rules = version === undefined ? "" : `  rules ${safe(version)}`;
  return colours.strong(
    clip(`sluice ${name}${rules}  rates over ${round(report.seconds)} s`, columns),
  );
}

function drawRules(rules: readonly RuleRate[], rowsMax: number): string[] {
  const head = ["rule", "by", "allowed/s", "refused/s", "shadow/s", "allowed", "refused"];
  const shown = rules.slice(0, rowsMax);
  const more = rules.length - shown.length;
  return formatTable(
    [
      head,
      ...shown.map(toRuleRow),
      ...(more > 0 ? [[`… ${more} more`]] : []),
      ...(rules.length === 0 ? [["no rule has counted anything yet"]] : []),
    ],
    NUMBERS,
  );
}

function toRuleRow(rate: RuleRate): string[] {
  return [
    safe(rate.rule, NAME_LENGTH_MAX),
    safe(rate.keyType, NAME_LENGTH_MAX),
    ...toNumbers(rate),
  ];
}

function toNumbers(rate: RuleRate): string[] {
  return [
    round(rate.allowedPerSecond),
    round(rate.blockedPerSecond),
    round(rate.shadowBlockedPerSecond),
    whole(rate.allowed),
    whole(rate.blocked),
  ];
}

/** Both lists of keys side by side. */
function drawKeys(
  { hottest, mostRefused }: TopReport,
  rowsMax: number,
  { columns }: ScreenSize,
): string[] {
  const toRows = (keys: readonly TopKey[]) =>
    toKeyRows(keys.slice(0, rowsMax), columns === Number.POSITIVE_INFINITY ? WHOLE : CUT);
  const left = formatTable([["hottest keys", "rule", "/s"], ...toRows(hottest)], KEYS);
  const right = formatTable([["most refused", "rule", "/s"], ...toRows(mostRefused)], KEYS);
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => [
    left[i] ?? "",
    right[i] ?? "",
  ]);
  return formatTable(rows.map(([a, b]) => [a, "", b]));
}

/** This many characters of a key and of its rule are shown. */
const CUT = { key: 24, rule: 16 };
/** As long as either can be: nothing is cut. */
const WHOLE = { key: 16_384, rule: 256 };

function toKeyRows(keys: readonly TopKey[], room: typeof CUT): string[][] {
  if (keys.length === 0) return [["none"]];
  return keys.map(({ rule, key, perSecond }) => [
    safe(key, room.key),
    safe(rule, room.rule),
    round(perSecond),
  ]);
}

/** The head of a table stands back. */
function paint(line: string, index: number, colours: Colours): string {
  return index === 0 ? colours.faint(line) : line;
}

/** Rates: one digit after the point, none from 100 on. */
function round(value: number): string {
  return value >= 100 ? whole(value) : value.toFixed(1);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
