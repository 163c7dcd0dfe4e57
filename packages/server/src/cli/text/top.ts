// The frame that `sluice top` draws: how busy each rule is, and which keys make it so. Pure: a report and
// the size of the terminal in, lines out.

import { formatDuration } from "sluice/shapes";
import type { UpstreamLoad } from "../../telemetry/reported.js";
import type { RuleRate, TopAnomaly, TopKey, TopReport } from "../../telemetry/top/top-report.js";
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
  const { rules, hottest, mostRefused, upstreams = [], anomalies = [] } = view.report;
  const loads = drawUpstreams(upstreams, Math.floor(room.rows / 4));
  const unusual = drawAnomalies(anomalies, Math.floor(room.rows / 4));
  // Keys get the half that rules leave, and rules what keys don't need.
  const free = Math.max(2, room.rows - FIXED_LINES - loads.length - unusual.length);
  const keyRows = Math.min(Math.max(hottest.length, mostRefused.length, 1), Math.ceil(free / 2));
  const ruleRows = Math.max(1, free - keyRows);
  return [
    sayTitle(view, room, colours),
    "",
    ...drawRules(rules, ruleRows).map((line, i) => paint(clip(line, room.columns), i, colours)),
    ...[loads, unusual].flatMap((table) =>
      table.map((line, i) => paint(clip(line, room.columns), i - 1, colours)),
    ),
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

/** Adaptive limits and circuit breakers, after a blank line; nothing if there are none, or no room for them. */
function drawUpstreams(loads: readonly UpstreamLoad[], rowsMax: number): string[] {
  const shown = loads.slice(0, rowsMax - 3);
  if (shown.length === 0) return [];
  const more = loads.length - shown.length;
  const head = ["upstream", "route", "limit", "in flight", "latency", "shed", "circuit"];
  const rows = [head, ...shown.map(toLoadRow), ...(more > 0 ? [[`… ${more} more`]] : [])];
  return ["", ...formatTable(rows, LOADS)];
}

const LOADS: readonly Align[] = ["left", "left", "right", "right", "right", "right", "left"];

function toLoadRow(load: UpstreamLoad): string[] {
  const orNone = (value: number | null) => (value === null ? "-" : whole(value));
  const counts = [...Object.values(load.shed ?? {}), ...Object.values(load.breakerShed ?? {})];
  return [
    safe(load.upstream, NAME_LENGTH_MAX),
    safe(load.route ?? "*", NAME_LENGTH_MAX),
    orNone(load.limit),
    orNone(load.inFlight),
    load.latencyMs === null ? "-" : `${round(load.latencyMs)} ms`,
    whole(counts.reduce((total, count) => total + count, 0)),
    load.breaker ?? "-",
  ];
}

/** What departed from its baseline, after a blank line; nothing if nothing did, or if there is no room for it. */
function drawAnomalies(anomalies: readonly TopAnomaly[], rowsMax: number): string[] {
  const shown = anomalies.slice(0, Math.max(0, rowsMax - 2));
  if (shown.length === 0) return [];
  const head = ["anomaly", "rule", "began", "ended", "highest", "usual"];
  return ["", ...formatTable([head, ...shown.map(toAnomalyRow)], ANOMALIES)];
}

const ANOMALIES: readonly Align[] = ["left", "left", "left", "left", "right", "right"];

function toAnomalyRow(anomaly: TopAnomaly): string[] {
  const ago = (ms: number) => `${formatDuration(Math.max(1_000, ms))} ago`;
  const sayValue = (value: number) =>
    anomaly.figure === "refusal-share" ? `${round(value * 100)}%` : round(value);
  return [
    safe(anomaly.figure, NAME_LENGTH_MAX),
    safe(anomaly.rule ?? "*", NAME_LENGTH_MAX),
    ago(anomaly.beganAgoMs),
    anomaly.endedAgoMs === null ? "lasts" : ago(anomaly.endedAgoMs),
    sayValue(anomaly.value),
    sayValue(anomaly.mean),
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
