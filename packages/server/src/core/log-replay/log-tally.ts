// Counts what rules did to the requests of a log: by rule, by key, by caller and over time, for the new rules and for the
// old ones beside them. Requests that both allow, which is most, cost a few additions.

import { toClientAddress } from "sluice/internals";
import type { DecidedCharge, PolicyDecision, Rule, RuleSet } from "sluice/rules";
import type { LogEntry } from "../../access-logs/log-entry.js";
import { SampledKeys } from "../../base/sampled-keys.js";
import { type Replayed, toReplayed } from "../replay/replay.js";
import { RefusedKeys } from "./refused-keys.js";
import { TimeSeries } from "./time-series.js";

/** Steps of the series of all requests and of each rule. */
export const STEPS = 120;
/** Callers, and refused keys of a rule, that are counted exactly. */
const CALLERS_MAX = 65_536;
/** Columns of callers: 1 for those that the new rules refused, and the old ones. */
const [REFUSED, REFUSED_BEFORE, CALLER_COLUMNS] = [0, 1, 2];
const KEYS_OF_RULE_MAX = 1_024;
/** Rules with refusals whose keys are counted: more are not listed anyway. */
const RULES_WITH_KEYS_MAX = 500;

/** What was counted under one rule. */
export class RuleTally {
  readonly rule: string | null;
  matched = 0;
  refused = 0;
  shadowRefused = 0;
  newlyRefused = 0;
  newlyAllowed = 0;
  firstMs: number | null = null;
  lastMs: number | null = null;
  readonly series: TimeSeries;
  /** Keys that were refused; undefined if none was. */
  keys: SampledKeys | undefined = undefined;

  constructor(rule: string | null, startMs: number) {
    this.rule = rule;
    this.series = new TimeSeries(startMs, STEPS);
  }
}

/** How callers are counted: as rules count them, so that shares of callers mean what a suggestion means. */
export interface CallersCounted {
  /** Bits by which the rules count IPv6. */
  readonly ipv6Prefix: number;
  /** Names of callers that some rule counts by, the most telling first. */
  readonly names: readonly CallerName[];
  /** Chooses which callers and keys are in samples. */
  readonly salt: number;
}

/** A name that lines may have for a caller, beside the address. */
export type CallerName = (typeof CALLER_NAMES)[number];
const CALLER_NAMES = ["user", "apiKey", "tenant"] as const;

/** How callers are counted under these rules. */
export function callersUnder(
  [first, ...others]: readonly [RuleSet, ...RuleSet[]],
  salt: number,
): CallersCounted {
  const kinds = new Set<string>();
  for (const { rules } of [first, ...others])
    for (const { key } of rules) for (const { kind } of key) kinds.add(kind);
  return {
    ipv6Prefix: first.ipv6Prefix,
    names: CALLER_NAMES.filter((name) => kinds.has(name)),
    salt,
  };
}

/** What one set of rules did. */
export class SideTally {
  readonly #startMs: number;
  readonly #byRule = new Map<Rule, RuleTally>();
  readonly byId = new Map<string | null, RuleTally>();
  readonly series: TimeSeries;
  refused = 0;
  delayed = 0;
  #latestRule: Rule | undefined;
  #latest: RuleTally | undefined;
  #isShadowRefused = false;
  readonly #see = (rule: Rule, charge: DecidedCharge) => this.#count(rule, charge);

  constructor(startMs: number) {
    this.#startMs = startMs;
    this.series = new TimeSeries(startMs, STEPS);
  }

  /** Counts a decision under each rule that it rests on. */
  add(decision: PolicyDecision): void {
    this.#latestRule = undefined;
    decision.eachCharge(this.#see);
  }

  /** The tally of a rule by its id. */
  at(rule: string | null): RuleTally {
    let tally = this.byId.get(rule);
    if (tally === undefined) {
      tally = new RuleTally(rule, this.#startMs);
      this.byId.set(rule, tally);
    }
    return tally;
  }

  /** The charges of one rule come together, one for each of its limits. A shadow rule would refuse by any of them. */
  #count(rule: Rule, { shadow, verdict }: DecidedCharge): void {
    if (rule !== this.#latestRule) {
      this.#latestRule = rule;
      this.#latest = this.#byRule.get(rule) ?? this.#meet(rule);
      this.#latest.matched++;
      this.#isShadowRefused = false;
    }
    if (!shadow || verdict.allowed || this.#isShadowRefused || this.#latest === undefined) return;
    this.#isShadowRefused = true;
    this.#latest.shadowRefused++;
  }

  #meet(rule: Rule): RuleTally {
    const tally = this.at(rule.id);
    this.#byRule.set(rule, tally);
    return tally;
  }
}

/** What was counted of a replay. */
export class LogTally {
  readonly startMs: number;
  readonly after: SideTally;
  /** Undefined if there are no old rules. */
  readonly before: SideTally | undefined;
  /** One sample, in which refused callers are marked: there are never more of them than callers. */
  readonly callers: SampledKeys;
  readonly keys: RefusedKeys;
  readonly series: TimeSeries;
  /** Facts that some line named. */
  readonly seen = new Set<string>();
  endMs: number;
  total = 0;
  newlyRefused = 0;
  newlyAllowed = 0;
  readonly #callers: CallersCounted;
  #rulesWithKeys = 0;

  constructor(startMs: number, isCompared: boolean, callers: CallersCounted) {
    this.#callers = callers;
    this.callers = new SampledKeys(CALLERS_MAX, callers.salt, CALLER_COLUMNS);
    this.startMs = startMs;
    this.endMs = startMs;
    this.after = new SideTally(startMs);
    this.before = isCompared ? new SideTally(startMs) : undefined;
    this.keys = new RefusedKeys(startMs);
    this.series = new TimeSeries(startMs, STEPS);
  }

  /** Adds a request with both answers to it. */
  add(entry: LogEntry, after: PolicyDecision, before: PolicyDecision | undefined): void {
    const caller = this.#callerOf(entry);
    this.addCaller(caller);
    this.after.add(after);
    if (before !== undefined) this.before?.add(before);
    this.addRequest(entry.atMs);
    if (!after.allowed || before?.allowed === false)
      this.addRefused(caller, entry.atMs, toReplayed(after), before && toReplayed(before));
  }

  /** Adds a caller, which may have been added before. */
  addCaller(caller: string): void {
    this.callers.placeOf(caller);
  }

  /** Counts a request, apart from its rules and its caller. */
  addRequest(atMs: number): void {
    this.total++;
    this.endMs = atMs;
    this.series.add(atMs);
  }

  /** Counts a request that at least one side refuses. `before` is undefined if there are no old rules. */
  addRefused(caller: string, atMs: number, after: Replayed, before: Replayed | undefined): void {
    const wasAllowed = before?.allowed ?? true;
    if (!after.allowed) {
      const { rule = null, key = null } = after;
      const tally = refuse(this.after, rule, atMs);
      const counted = this.keys.refuse(rule, key, atMs);
      this.#markCaller(caller, REFUSED);
      this.#keysOf(tally)?.placeOf(key ?? "");
      if (before !== undefined && wasAllowed) {
        this.newlyRefused++;
        tally.newlyRefused++;
        counted.newlyRefused++;
      }
    }
    if (wasAllowed || before === undefined || this.before === undefined) return;
    const { rule = null, key = null } = before;
    const tally = refuse(this.before, rule, atMs);
    const counted = this.keys.refuseBefore(rule, key, atMs);
    this.#markCaller(caller, REFUSED_BEFORE);
    if (!after.allowed) return;
    this.newlyAllowed++;
    tally.newlyAllowed++;
    counted.newlyAllowed++;
  }

  /** Callers with refusals, by the new rules and by the old ones: exact while all callers are counted. */
  get callersRefused(): { readonly after: number; readonly before: number } {
    const count = (column: Uint32Array) => {
      let marked = 0;
      for (const place of this.callers.places()) marked += column[place];
      return Math.round(marked / this.callers.share);
    };
    const [after, before] = [REFUSED, REFUSED_BEFORE].map((at) => count(this.callers.column(at)));
    return { after, before };
  }

  #markCaller(caller: string, column: number): void {
    const place = this.callers.placeOf(caller);
    if (place >= 0) this.callers.column(column)[place] = 1;
  }

  #keysOf(tally: RuleTally): SampledKeys | undefined {
    if (tally.keys === undefined && this.#rulesWithKeys < RULES_WITH_KEYS_MAX) {
      this.#rulesWithKeys++;
      tally.keys = new SampledKeys(KEYS_OF_RULE_MAX, this.#callers.salt);
    }
    return tally.keys;
  }

  /** By the most telling name that rules count by, else by the address. */
  #callerOf(entry: LogEntry): string {
    const { names, ipv6Prefix } = this.#callers;
    let caller: string | undefined;
    for (const name of names) {
      const value = entry[name];
      if (value === undefined) continue;
      this.seen.add(name);
      caller ??= `${name}:${value}`;
    }
    return caller ?? toClientAddress(entry.ip ?? "", { ipv6Prefix }) ?? entry.ip ?? "";
  }
}

function refuse(side: SideTally, rule: string | null, atMs: number): RuleTally {
  side.refused++;
  side.series.add(atMs);
  const tally = side.at(rule);
  tally.refused++;
  tally.firstMs ??= atMs;
  tally.lastMs = atMs;
  tally.series.add(atMs);
  return tally;
}
