// Makes the report of a replay out of what was counted.

import type { LoggedClients } from "../../access-logs/logged-clients.js";
import type { ReadSummary } from "../../access-logs/reading/read-logs.js";
import { type JudgedRules, notesOnSpan, notesOnUnseen, type RuleNote } from "./judged-rules.js";
import { remarksOnLog } from "./log-remarks.js";
import type { LogReplayInput, NamedRules } from "./log-replay-input.js";
import { callersUnder, LogTally, type RuleTally, STEPS } from "./log-tally.js";
import { KEY_STEPS, type RefusedKey } from "./refused-keys.js";
import {
  REPORT_VERSION,
  type ReplayReport,
  type ReportedKey,
  type ReportedNote,
  type ReportedRule,
} from "./replay-report.js";
import type { TimeSeries } from "./time-series.js";

/** Rules and keys that are listed. */
const RULES_MAX = 200;
const KEYS_MAX = 200;

/** What a replay counted. */
export interface Counted {
  readonly after: JudgedRules;
  readonly before: JudgedRules | undefined;
  readonly log: ReadSummary;
  /** Undefined if no proxy is trusted. */
  readonly clients: LoggedClients | undefined;
  /** Undefined if there was no request. */
  readonly tally: LogTally | undefined;
  readonly shortage: Shortage;
}

/** What the memory for counters could not hold. */
export interface Shortage {
  /** Keys in use that were forgotten for others: under the old rules or the new ones, whichever forgot more. */
  readonly evictions: number;
  /** Whether requests were refused because there was no room for another entry of a sliding log. */
  readonly isLogFull: boolean;
}

/** The report. */
export function toReport(input: LogReplayInput, counted: Counted): ReplayReport {
  const { hashKey } = input;
  const isCompared = counted.before !== undefined;
  const tally =
    counted.tally ?? new LogTally(0, isCompared, callersUnder([counted.after.rules], 0));
  const { after, before, callersRefused } = tally;
  const steps = stepsOf(tally);
  const isEmpty = tally.total === 0;
  const keys = tally.keys.toSorted();
  return {
    sluiceReplay: REPORT_VERSION,
    rules: toRules(input.rules),
    against: input.against === undefined ? null : toRules(input.against),
    isHashed: hashKey !== undefined,
    fromMs: isEmpty ? null : tally.startMs,
    toMs: isEmpty ? null : tally.endMs,
    log: hashKey === undefined ? counted.log : withoutText(counted.log),
    requests: {
      total: tally.total,
      refused: after.refused,
      delayed: after.delayed,
      refusedBefore: before?.refused ?? null,
      newlyRefused: tally.newlyRefused,
      newlyAllowed: tally.newlyAllowed,
    },
    callers: {
      total: tally.callers.estimate,
      refused: callersRefused.after,
      refusedBefore: before === undefined ? null : callersRefused.before,
      areExact: tally.callers.share === 1,
    },
    series: {
      stepMs: steps.stepMs,
      requests: tally.series.toCounts(steps),
      refused: after.series.toCounts(steps),
      refusedBefore: before?.series.toCounts(steps) ?? null,
    },
    byRule: toByRule(tally, steps),
    byKey: keys.slice(0, KEYS_MAX).map((key) => toKey(key, tally, hashKey)),
    keysLeftOut: Math.max(0, keys.length - KEYS_MAX),
    areKeysExact: tally.keys.isExact,
    notes: toNotes(counted, tally),
    remarks: [...remarksOn(counted)],
  };
}

function toRules({ file, rules }: NamedRules): ReplayReport["rules"] {
  return { file, version: rules.version, rules: rules.rules.length };
}

/** What holds for a rule of both sides is said once. */
function toNotes({ after, before }: Counted, tally: LogTally): ReportedNote[] {
  const ofNew = notesOn(after, tally);
  const ofOld = before === undefined ? [] : notesOn(before, tally);
  const said = new Set(ofNew.map((note) => JSON.stringify(note)));
  return [
    ...ofNew.map((note) => ({ ...note, isAgainst: false })),
    ...ofOld
      .filter((note) => !said.has(JSON.stringify(note)))
      .map((note) => ({ ...note, isAgainst: true })),
  ];
}

function notesOn({ rules, notes }: JudgedRules, tally: LogTally): readonly RuleNote[] {
  if (tally.total === 0) return notes;
  return [
    ...notes,
    ...notesOnUnseen(rules, tally.seen),
    ...notesOnSpan(rules, tally.endMs - tally.startMs),
  ];
}

/** Lines name addresses. */
function withoutText(log: ReadSummary): ReadSummary {
  return { ...log, malformedLines: log.malformedLines.map((line) => ({ ...line, text: "" })) };
}

interface Steps {
  readonly stepMs: number;
  readonly steps: number;
}

/** As many steps as the log covers. */
function stepsOf({ series, startMs, endMs }: LogTally): Steps {
  const { stepMs } = series;
  return { stepMs, steps: Math.min(STEPS, Math.floor((endMs - startMs) / stepMs) + 1) };
}

function toByRule({ after, before }: LogTally, steps: Steps): ReportedRule[] {
  const ids = new Set([...after.byId.keys(), ...(before?.byId.keys() ?? [])]);
  return [...ids]
    .map((id) => toRule(id, after.byId.get(id), before && { tally: before.byId.get(id) }, steps))
    .sort((a, b) => weightOf(b) - weightOf(a))
    .slice(0, RULES_MAX);
}

function weightOf({ refused, refusedBefore, shadowRefused, matched }: ReportedRule): number {
  return refused + (refusedBefore ?? 0) + shadowRefused + matched * 1e-9;
}

function toRule(
  rule: string | null,
  after: RuleTally | undefined,
  before: { readonly tally: RuleTally | undefined } | undefined,
  steps: Steps,
): ReportedRule {
  return {
    rule,
    matched: after?.matched ?? 0,
    refused: after?.refused ?? 0,
    shadowRefused: after?.shadowRefused ?? 0,
    matchedBefore: before === undefined ? null : (before.tally?.matched ?? 0),
    refusedBefore: before === undefined ? null : (before.tally?.refused ?? 0),
    newlyRefused: after?.newlyRefused ?? 0,
    newlyAllowed: before?.tally?.newlyAllowed ?? 0,
    keysRefused: after?.keys?.estimate ?? 0,
    areKeysExact: (after?.keys?.share ?? 1) === 1,
    firstMs: after?.firstMs ?? null,
    lastMs: after?.lastMs ?? null,
    series: countsOf(after?.series, steps),
    seriesBefore: before === undefined ? null : countsOf(before.tally?.series, steps),
  };
}

function countsOf(series: TimeSeries | undefined, steps: Steps): number[] {
  return series?.toCounts(steps) ?? Array.from({ length: steps.steps }, () => 0);
}

function toKey(
  { rule, key, refused, refusedBefore, newlyRefused, newlyAllowed, ...times }: RefusedKey,
  { before, startMs, endMs, series: all }: LogTally,
  hashKey: ((key: string) => string) | undefined,
): ReportedKey {
  const { firstMs, lastMs, series } = times;
  // All keys have the same steps: twice as long as those of the log, since they have half as many.
  const stepMs = Math.max(series.stepMs, all.stepMs * (STEPS / KEY_STEPS));
  const steps = Math.min(KEY_STEPS, Math.floor((endMs - startMs) / stepMs) + 1);
  return {
    rule,
    key: key === null || hashKey === undefined ? key : hashKey(key),
    refused,
    refusedBefore: before === undefined ? null : refusedBefore,
    newlyRefused,
    newlyAllowed,
    firstMs,
    lastMs,
    series: series.toCounts({ stepMs, steps }),
    stepMs,
  };
}

function* remarksOn({ log, clients, tally, shortage, before }: Counted): Generator<string> {
  yield* remarksOnLog(log, clients);
  const { evictions, isLogFull } = shortage;
  if (evictions > 0)
    yield `${evictions.toLocaleString("en-GB")} ${evictions === 1 ? "key" : "keys"} in use had to make room for others, as they would in a service of that size; see --keys-max`;
  if (isLogFull)
    yield "requests were also refused because the memory for sliding window logs was full, as they would be in a service of that size; see --keys-max";
  if (tally !== undefined && tally.callers.share < 1)
    yield "there were so many callers that their numbers are estimates, within about 1%";
  if (before === undefined && tally !== undefined)
    yield "all rules start with nothing used, as after a restart";
}
