// The report of a replay, as JSON: what `sluice replay --json` prints, and what the playground of the dashboard opens.

import type { ReadSummary } from "../../access-logs/reading/read-logs.js";
import type { RuleNote } from "./judged-rules.js";

/** The version of the format. It changes when a reader of an older one would misread it. */
export const REPORT_VERSION = 1;

/** Which rules were replayed. */
export interface ReportedRules {
  readonly file: string;
  /** A hash of what the rules say. */
  readonly version: string;
  readonly rules: number;
}

/** Requests under one rule. Those of the old rules are null if there are none. */
export interface ReportedRule {
  /** Null for requests that no limit refused, such as those without a key. */
  readonly rule: string | null;
  /** Requests that were counted under it. */
  readonly matched: number;
  readonly refused: number;
  /** Requests that it would refuse if it were not a shadow rule. */
  readonly shadowRefused: number;
  readonly matchedBefore: number | null;
  readonly refusedBefore: number | null;
  /** Requests that the new rules refuse by it and the old ones allow, and the reverse. */
  readonly newlyRefused: number;
  readonly newlyAllowed: number;
  /** Keys with refusals by the new rules; about, if `areKeysExact` is false. */
  readonly keysRefused: number;
  readonly areKeysExact: boolean;
  /** When the new rules refused, in Unix milliseconds; null if they never did. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  /** Refusals in each step: by the new rules, and by the old ones. */
  readonly series: readonly number[];
  readonly seriesBefore: readonly number[] | null;
}

/** Requests of one key under a rule. */
export interface ReportedKey {
  readonly rule: string | null;
  readonly key: string | null;
  readonly refused: number;
  readonly refusedBefore: number | null;
  readonly newlyRefused: number;
  readonly newlyAllowed: number;
  /** When the new rules refused it, in Unix milliseconds; when the old ones did if the new ones never do. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Refusals by the new rules, in steps of `stepMs` of its own. */
  readonly series: readonly number[];
  readonly stepMs: number;
}

/** What a report says of a rule that is not judged, or only in part. */
export interface ReportedNote extends RuleNote {
  /** Whether it is about a rule of the old rules. What holds for a rule of both is said once, of the new ones. */
  readonly isAgainst: boolean;
}

/** A whole report. */
export interface ReplayReport {
  readonly sluiceReplay: typeof REPORT_VERSION;
  readonly rules: ReportedRules;
  /** Null if there was nothing to compare with. */
  readonly against: ReportedRules | null;
  /** Whether keys are hashed, and malformed lines without their content. */
  readonly isHashed: boolean;
  /** The first and the last request, in Unix milliseconds; null if there is none. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly log: ReadSummary;
  readonly requests: {
    readonly total: number;
    readonly refused: number;
    readonly delayed: number;
    readonly refusedBefore: number | null;
    readonly newlyRefused: number;
    readonly newlyAllowed: number;
  };
  /** By user, API key, tenant or address as rules count it, whichever a line names first. About, if `areExact` is false. */
  readonly callers: {
    readonly total: number;
    readonly refused: number;
    readonly refusedBefore: number | null;
    readonly areExact: boolean;
  };
  /** Requests and refusals in each step from `fromMs` on. */
  readonly series: {
    readonly stepMs: number;
    readonly requests: readonly number[];
    readonly refused: readonly number[];
    readonly refusedBefore: readonly number[] | null;
  };
  /** Those with most refusals first. */
  readonly byRule: readonly ReportedRule[];
  readonly byKey: readonly ReportedKey[];
  /** Refused keys that are not listed; at least, if `areKeysExact` is false. */
  readonly keysLeftOut: number;
  /** False if there were so many refused keys that only those with most refusals were counted. */
  readonly areKeysExact: boolean;
  /** Rules that the log can't judge, or only in part: the new ones, then the old ones. */
  readonly notes: readonly ReportedNote[];
  /** What else a reader has to know to judge the figures. */
  readonly remarks: readonly string[];
}
