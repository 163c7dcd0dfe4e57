// The report of a replay on a terminal: what would have been refused, by rule and by key, and what the log can't show.

import { formatDuration } from "sluice/shapes";
import type {
  ReplayReport,
  ReportedKey,
  ReportedRule,
} from "../../core/log-replay/replay-report.js";
import { safe } from "./colours.js";
import { bars } from "./plot.js";
import { count } from "./rules.js";
import { formatTable } from "./table.js";

/** Keys that are printed; `--json` has more. */
const KEYS_MAX = 20;
const RULES_MAX = 30;
const KEY_LENGTH_MAX = 60;
const SPARK_WIDTH = 24;

/** The lines of a report. */
export function formatReplay(report: ReplayReport): string[] {
  return [
    ...sayTotals(report),
    ...(report.byRule.length === 0 ? [] : ["", ...tableOfRules(report)]),
    ...(report.byKey.length === 0 ? [] : ["", ...tableOfKeys(report)]),
    ...sayNotes(report),
    ...sayMalformed(report),
  ];
}

function sayTotals({
  requests,
  callers,
  fromMs,
  toMs,
  against,
  rules,
  series,
}: ReplayReport): string[] {
  if (fromMs === null || toMs === null) return ["no requests were read"];
  const { total, refused, refusedBefore, newlyRefused, newlyAllowed, delayed } = requests;
  const about = callers.areExact ? "" : "about ";
  return [
    `${count(total, "request")} of ${about}${count(callers.total, "caller")} in ${formatDuration(Math.max(1_000, toMs - fromMs))}, from ${time(fromMs)} to ${time(toMs)} UTC`,
    `${safe(rules.file)} would have refused ${sayShare(refused, total)} requests, of ${about}${sayShare(callers.refused, callers.total)} callers`,
    ...(against === null
      ? []
      : [
          `${safe(against.file)} would have refused ${sayShare(refusedBefore ?? 0, total)} requests, of ${about}${sayShare(callers.refusedBefore ?? 0, callers.total)} callers`,
          `newly refused: ${number(newlyRefused)}, newly allowed: ${number(newlyAllowed)}`,
        ]),
    ...(delayed === 0 ? [] : [`delayed: ${number(delayed)}`]),
    `requests  ${bars(series.requests)}`,
    `refused   ${bars(series.refused)}`,
    ...(series.refusedBefore === null ? [] : [`before    ${bars(series.refusedBefore)}`]),
  ];
}

function tableOfRules({ byRule, against }: ReplayReport): string[] {
  const isCompared = against !== null;
  const isShadow = byRule.some(({ shadowRefused }) => shadowRefused > 0);
  const head = [
    "rule",
    "counted",
    "refused",
    ...(isCompared ? ["before", "newly refused", "newly allowed"] : []),
    ...(isShadow ? ["if enforced"] : []),
    "keys",
    "first",
    "last",
  ];
  const toRow = (rule: ReportedRule) => [
    safe(rule.rule ?? "(no rule)"),
    number(rule.matched),
    number(rule.refused),
    ...(isCompared
      ? [number(rule.refusedBefore ?? 0), number(rule.newlyRefused), number(rule.newlyAllowed)]
      : []),
    ...(isShadow ? [number(rule.shadowRefused)] : []),
    `${rule.areKeysExact ? "" : "about "}${number(rule.keysRefused)}`,
    rule.firstMs === null ? "" : time(rule.firstMs),
    rule.lastMs === null ? "" : time(rule.lastMs),
  ];
  const left = byRule.length - RULES_MAX;
  return [
    ...formatTable([head, ...byRule.slice(0, RULES_MAX).map(toRow)], alignsOf(head)),
    ...(left > 0 ? [`and ${count(left, "more rule")}`] : []),
  ];
}

function tableOfKeys({ byKey, keysLeftOut, against, areKeysExact }: ReplayReport): string[] {
  const isCompared = against !== null;
  const head = [
    "key",
    "rule",
    "refused",
    ...(isCompared ? ["before"] : []),
    "first",
    "last",
    "when",
  ];
  const toRow = (key: ReportedKey) => [
    safe(key.key ?? "-", KEY_LENGTH_MAX),
    safe(key.rule ?? "-"),
    number(key.refused),
    ...(isCompared ? [number(key.refusedBefore ?? 0)] : []),
    time(key.firstMs),
    time(key.lastMs),
    bars(key.series, SPARK_WIDTH),
  ];
  const left = keysLeftOut + Math.max(0, byKey.length - KEYS_MAX);
  const atLeast = areKeysExact ? "" : " at least";
  return [
    ...formatTable([head, ...byKey.slice(0, KEYS_MAX).map(toRow)], alignsOf(head)),
    ...(left === 0 ? [] : [`and${atLeast} ${count(left, "more key")}`]),
  ];
}

function alignsOf(head: readonly string[]): ("left" | "right")[] {
  return head.map((name) => (TEXTS.has(name) ? "left" : "right"));
}

const TEXTS: ReadonlySet<string> = new Set(["rule", "key", "first", "last", "when"]);

function sayNotes({ notes, remarks, against }: ReplayReport): string[] {
  const lines = [
    ...notes.map(
      ({ rule, isLeftOut, isAgainst, why }) =>
        `${isAgainst && against !== null ? `${safe(against.file)}: ` : ""}${safe(rule)}${isLeftOut ? " was left out" : ""}: ${safe(why, 200)}`,
    ),
    ...remarks.map((remark) => safe(remark, 300)),
  ];
  return lines.length === 0 ? [] : ["", ...lines];
}

/** The malformed lines of a log: how many, and the first. */
export function sayMalformed({ log }: Pick<ReplayReport, "log">): string[] {
  const { lines, malformed, malformedLines } = log;
  if (malformed === 0) return [];
  return [
    "",
    `${number(malformed)} of ${count(lines, "line")} malformed; the first:`,
    ...malformedLines.map(({ file, line, why, text }) => {
      const shown = text === "" ? "" : `: ${safe(text, 100)}`;
      return `  ${safe(file, 120)}:${line}: ${why}${shown}`;
    }),
  ];
}

function sayShare(part: number, whole: number): string {
  const percent = Number(((100 * part) / Math.max(1, whole)).toPrecision(3));
  return `${number(part)} (${percent}%)`;
}

function number(value: number): string {
  return value.toLocaleString("en-GB");
}

/** In UTC, as all times of the command. */
function time(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
