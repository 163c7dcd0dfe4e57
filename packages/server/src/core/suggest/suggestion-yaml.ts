// A suggestion as a rule file that is ready to be edited, with a sentence that explains each number.

import { formatDuration } from "sluice/shapes";
import type { Suggestion, WindowSuggestion } from "./suggestion.js";

/** What the rule is about, as the user said it. */
export interface SuggestedRule {
  /** What is counted by: `ip`, or `[tenant, user]`. */
  readonly by: readonly string[];
  /** A path pattern; undefined for all requests. */
  readonly path: string | undefined;
  /** What the log covers, in words, such as `access.log`. */
  readonly from: string;
  /** Whether all times of the log are whole seconds. Default false. */
  readonly isWholeSeconds?: boolean | undefined;
  /** How long the log is, so that no limit is suggested for a longer time. Default: as long as it has to be. */
  readonly spanMs?: number | undefined;
}

/** Dimensions that every request has a value for. */
const ALWAYS = /^(?:ip|ipPrefix.*|subnet.*|endpoint|global)$/;

/** The rule file. */
export function toRuleFile(suggestion: Suggestion, rule: SuggestedRule): string {
  const { by, path, from } = rule;
  const { windows, refuseAtMost, callers, isSampled } = suggestion;
  const about = isSampled ? "about " : "";
  const isOptional = by.some((dimension) => !ALWAYS.test(dimension));
  const kept = windows.filter(({ isImplied }) => !isImplied);
  const implied = windows.filter(({ isImplied }) => isImplied);
  return [
    `# Limits by ${oneLine(by.join(" and "))} that at most ${about}${percent(refuseAtMost)} of ${about}${number(callers)} ${callers === 1 ? "caller" : "callers"} would have exceeded.`,
    `# Suggested from ${oneLine(from)}. Try them on the same log: sluice replay LOG --rules FILE`,
    "version: 1",
    "rules:",
    `  - id: ${toId(by)}`,
    ...(path === undefined ? [] : [`    match: { path: ${JSON.stringify(path)} }`]),
    `    key: ${by.length === 1 ? written(by[0]) : `[${by.map(written).join(", ")}]`}`,
    ...(isOptional
      ? [
          `    # Requests without ${by.length === 1 ? "it" : "all of these"} were not counted here. Without this line, they are counted by address.`,
          "    onMissing: skip",
        ]
      : []),
    "    # To count and report without refusing, remove the # of the next line.",
    "    # onExceed: shadow",
    "    limit:",
    ...kept.flatMap((window) => [
      ...explain(window, suggestion, rule).map((line) => `      # ${line}`),
      `      ${isTooLong(window, rule) ? "# " : ""}- slidingWindowCounter: { limit: ${window.limit}, windowMs: ${shortly(window.windowMs)} }`,
    ]),
    ...implied.map(
      ({ windowMs, limit }) =>
        `      # ${number(limit)} in ${formatDuration(windowMs)} is left out: the limits above never let a caller get there.`,
    ),
    "",
  ].join("\n");
}

const SECOND_MS = 1_000;
/** A log of an hour has its last request a little earlier. */
const ENOUGH = 0.9;

/** Whether a log is too short to say what callers need in a window. The shortest window is always judged. */
function isTooLong({ windowMs }: WindowSuggestion, { spanMs = windowMs }: SuggestedRule): boolean {
  return windowMs > SECOND_MS && spanMs < windowMs * ENOUGH;
}

/**
 * Why a limit is what it is, in sentences. Requests are counted as the limit counts them: those of its window, and as
 * much of the window before it as the sliding window still covers.
 */
export function explain(
  window: WindowSuggestion,
  { callers, isSampled }: Suggestion,
  rule: SuggestedRule,
): string[] {
  const { windowMs, limit, needed, callersTouched, most } = window;
  const { isWholeSeconds = false, spanMs = 0 } = rule;
  const about = isSampled ? "about " : "";
  const rounded = limit === needed ? "" : ` (${number(needed)}, rounded up)`;
  const within =
    callersTouched === 0
      ? "No caller ever"
      : `${about}${number(callers - callersTouched)} of ${number(callers)} callers never`;
  const touched =
    callersTouched === 0
      ? "No caller would have been refused."
      : `${about}${number(callersTouched)} (${percent(callersTouched / callers)}) would have been refused.`;
  return [
    `${capitalize(within)} had more than ${number(limit)} ${limit === 1 ? "request" : "requests"} counted in ${formatDuration(windowMs)}${rounded}.`,
    `The busiest had ${number(most)}. ${capitalize(touched)}`,
    ...(isWholeSeconds && windowMs <= SECOND_MS
      ? ["The log has whole seconds, so each second is counted together with the one before it."]
      : []),
    ...(isTooLong(window, rule)
      ? [
          `The log covers only ${formatDuration(Math.max(SECOND_MS, spanMs))}, so callers may need more in ${formatDuration(windowMs)}.`,
          "To use this limit all the same, remove the # of the next line.",
        ]
      : []),
  ];
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `0.025%`, with as many digits as it needs. */
export function percent(share: number): string {
  return `${Number((share * 100).toPrecision(share > 0.9 ? 8 : 3))}%`;
}

function number(value: number): string {
  return value.toLocaleString("en-GB");
}

/** As rule files write durations. */
function shortly(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`;
}

function toId(by: readonly string[]): string {
  return `per-${by.join("-").replace(/[^A-Za-z0-9_.-]+/g, "-")}`.slice(0, 64);
}

/** Plain where YAML reads it as a string. */
function written(dimension: string): string {
  return /^[A-Za-z]+$/.test(dimension) ? dimension : JSON.stringify(dimension);
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}
