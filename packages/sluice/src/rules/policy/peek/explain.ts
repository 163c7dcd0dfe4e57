// Explains the answer to a request: every rule that matches and why, what it counts the request by, the status of its
// counters, and what would happen. Nothing is charged. The answer is plain JSON for operators: unlike anything that
// is sent to clients, it shows keys.

import type { EscalationTerms } from "../../../algorithms/escalation.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { describeKey } from "../../identity-keys/key.js";
import { Matcher } from "../../match/matcher.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import { type StatedPriority, statedPriorityOf } from "../../request-priorities.js";
import type { Across, ClientMatch, ExceptionSubject, Match, OnExceed } from "../../rule.js";
import { EMPTY_MATCH } from "../../rule.js";
import type { DecidedRuleCharge } from "../charges/decided-charge.js";
import {
  addCharges,
  type ChargeContext,
  isExemptIp,
  keyFor,
  type NotCharged,
  type RuleCharge,
} from "../charges/request-charges.js";
import type { CompiledRule } from "../compile/compile.js";
import type { LimitKind } from "../compile/rule-limits.js";
import type { CostFunctions } from "../cost.js";
import { describeSettle } from "../held-charges/settled-cost.js";
import type { CallerBlock } from "../operator/caller-blocks.js";
import {
  PolicyDecision,
  type RefusalReason,
  toMissing,
} from "../policy-request/policy-decision.js";
import type { PolicyRequest } from "../policy-request/policy-request.js";
import type { SwitchState } from "../switches.js";
import { peekCharges } from "./peek.js";

/** How much is explained. */
export interface ExplainOptions {
  /** Whether rules that don't match are included too, with the condition that fails. Default false. */
  readonly all?: boolean;
  /**
   * Whether rules that don't match are included too if they could count the caller under another path, method, host
   * or header, with their key and counters; 256 limits at most. Default false.
   */
  readonly counters?: boolean;
  /** What the request costs, instead of what the rules say. */
  readonly cost?: number | undefined;
  /** When it would be made, in milliseconds by the policy's clock, as for `admit`. Default: now. */
  readonly nowMs?: number | undefined;
}

/** Why a request would be answered as it would. Infinity is null throughout. */
export interface Explanation {
  /** The version of the rules. */
  readonly version: string;
  readonly allowed: boolean;
  /** The rule that would bind: that refuses, or that has the smallest share left. */
  readonly rule: string | null;
  readonly reason: RefusalReason | null;
  readonly retryAfterMs: number | null;
  readonly delayMs: number;
  /** The operator's block of the caller, if there is one. */
  readonly block: ExplainedBlock | null;
  /** What an operator switched everything to. */
  readonly switch: SwitchState;
  /** Its priority when load is shed, as if from a trusted proxy. Undefined if no rule states one. */
  readonly requestPriority?: StatedPriority | undefined;
  /** In the order of the rules. */
  readonly rules: readonly ExplainedRule[];
}

/** An operator's block of a caller. */
export interface ExplainedBlock {
  /** Who is blocked: `ip:203.0.113.0/24`. Null if that is not known. */
  readonly subject: string | null;
  readonly reason: string;
  /** By the wall clock; null if it does not end. */
  readonly untilMs: number | null;
}

/** The exception of a rule that holds for the caller. */
export interface ExplainedException {
  readonly by: ExceptionSubject;
  readonly value: string;
  /** By the wall clock; null if it does not end. */
  readonly endsAtMs: number | null;
}

/** One rule, as it looks at the request. */
export interface ExplainedRule {
  readonly rule: string;
  /** Its place in its file, if it comes from one. */
  readonly place: string | null;
  readonly isMatch: boolean;
  /** What the rule asks of a request. None: it is about all. */
  readonly conditions: readonly ExplainedCondition[];
  /**
   * Why a rule that matches does not count the request; null if it does. `missing`: the request has no value for
   * part of the key; `refused`: and may not pass without one.
   */
  readonly notApplied: NotCharged | "disabled" | null;
  readonly onExceed: OnExceed;
  /** What is counted: `ip`, `tenant|user`. */
  readonly keyType: string;
  /** Null if the request has no value for part of it, or the rule does not match and `counters` was not asked for. */
  readonly key: string | null;
  /** Whose numbers hold: the rule's own, those of the caller's key, exception or tier. Null if none do. */
  readonly from: LimitKind["from"] | null;
  /** The exception that holds for the caller, also one without a limit; null if none does. */
  readonly exception: ExplainedException | null;
  /** What an operator switched it to. `deny`: the request is refused if it matches. */
  readonly switch: SwitchState;
  /** What says the real cost once there is a response: `bytes`, `json usage.total_tokens`; null if nothing does. */
  readonly settledBy: string | null;
  readonly limits: readonly ExplainedLimit[];
  /** When the rule blocks a caller that it keeps refusing, and for how long. Absent if it does not. */
  readonly escalate?: EscalationTerms | undefined;
  /** How regions agree on it. Absent if the policy has no regions, or the rule is durable. */
  readonly across?: Across;
  /** The region whose store decides it. Absent in the same cases. */
  readonly region?: string;
  /** How long an operator's block of the key still lasts: 0 if there is none, null if until it is unblocked. */
  readonly blockedMs: number | null;
}

/** One condition of a rule, and whether the request meets it. */
export interface ExplainedCondition {
  readonly on: "path" | "method" | "host" | "header" | "attribute" | "client";
  /** What is asked for: patterns, methods, hosts, or `name` and the values that fit. */
  readonly wanted: string;
  readonly isMet: boolean;
}

/** One limit of a rule that counts the request, or with `counters` would count another one of its caller. */
export interface ExplainedLimit {
  readonly algorithm: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number | null;
  /** What the request would be charged. */
  readonly cost: number;
  readonly wouldPass: boolean;
  readonly retryAfterMs: number | null;
  readonly delayMs: number;
}

/** Explains a request by the facts that it has. */
export function explainRequest(
  request: PolicyRequest,
  { all = false, counters = false }: ExplainOptions,
): MaybePromise<Explanation> {
  const { compiled, normalized } = request;
  const cause = request.toRefusalCause();
  const charges: RuleCharge[] = [];
  const others: RuleCharge[] = [];
  const matches = new Set(compiled.all.match(normalized));
  const looks = [...compiled.byId.values()].flatMap((rule): Look[] => {
    // Matchers don't know the rules that are switched off.
    const isMatch = matches.has(rule) || (!rule.isOn && fits(rule.match, normalized));
    if (isMatch) return [{ rule, isMatch, notApplied: toNotApplied(rule, request, charges) }];
    const isCounted = counters && addOther(rule, request, others);
    return all || isCounted ? [{ rule, isMatch, notApplied: null }] : [];
  });
  const refusing = looks.find(({ notApplied }) => notApplied === "refused");
  const peeked = peekCharges([...charges, ...others], request);
  return andThen(peeked, (both) => {
    const answers = both.slice(0, charges.length);
    const { version } = compiled.ruleSet;
    const byRule = groupByRule(both);
    const missing = refusing === undefined ? undefined : toMissing(refusing.rule.definition.id);
    const decision = new PolicyDecision(version, answers, undefined, cause ?? missing);
    return {
      version,
      allowed: decision.allowed,
      rule: decision.rule ?? null,
      reason: decision.reason ?? null,
      retryAfterMs: orNull(decision.retryAfterMs),
      delayMs: decision.delayMs,
      block: decision.block === undefined ? null : toExplainedBlock(decision.block),
      switch: compiled.switchedTo,
      requestPriority: statedPriorityOf(compiled.ruleSet, normalized.facts),
      rules: looks.map((look) => toExplained(look, request, byRule.get(look.rule) ?? [])),
    };
  });
}

/** A rule may match with thousands of others, so that no list is searched for each. */
function groupByRule(
  charges: readonly DecidedRuleCharge[],
): Map<CompiledRule, DecidedRuleCharge[]> {
  const groups = new Map<CompiledRule, DecidedRuleCharge[]>();
  for (const charge of charges) {
    const group = groups.get(charge.rule);
    if (group === undefined) groups.set(charge.rule, [charge]);
    else group.push(charge);
  }
  return groups;
}

interface Look {
  readonly rule: CompiledRule;
  readonly isMatch: boolean;
  readonly notApplied: ExplainedRule["notApplied"];
}

function toNotApplied(
  rule: CompiledRule,
  request: PolicyRequest,
  charges: RuleCharge[],
): ExplainedRule["notApplied"] {
  const { compiled, normalized } = request;
  if (!compiled.isOn || !rule.isOn) return "disabled";
  if (isExemptIp(compiled.ruleSet.exempt, normalized)) return "exempt-ip";
  return addCharges(rule, normalized, request, charges) ?? null;
}

/** Adds what a rule that does not match would charge the caller; false if it can't count it. */
function addOther(rule: CompiledRule, request: PolicyRequest, others: RuleCharge[]): boolean {
  const { compiled, normalized } = request;
  const isAskedFor = rule.definition.key.some(({ kind }) => kind === "endpoint");
  if (isAskedFor || !compiled.isOn || !rule.isOn || others.length >= OTHER_LIMITS_MAX) return false;
  const countBefore = others.length;
  addCharges(rule, normalized, toUncosted(request), others);
  return others.length > countBefore;
}

/** Functions that say costs know nothing of a request that was not made. */
function toUncosted({ nowMs, wallMs }: PolicyRequest): ChargeContext {
  return { nowMs, wallMs, costs: NO_COSTS, cost: undefined, isReserved: false, isLast: true };
}

const NO_COSTS: CostFunctions = new Map();
const OTHER_LIMITS_MAX = 256;

function toExplainedBlock({ subject, reason, untilMs }: CallerBlock): ExplainedBlock {
  return { subject: subject ?? null, reason, untilMs: orNull(untilMs) };
}

/** The exception whose limits hold: an override of the key comes first. */
function toException(
  { exceptions, overrides }: CompiledRule,
  key: string | null,
  { normalized, wallMs }: PolicyRequest,
): ExplainedException | null {
  if (exceptions === undefined || key === null || overrides.has(key)) return null;
  const found = exceptions.find(normalized.facts, { wallMs });
  if (found === undefined) return null;
  return { by: found.by, value: found.value, endsAtMs: orNull(found.endsAtMs) };
}

function toExplained(
  { rule, isMatch, notApplied }: Look,
  request: PolicyRequest,
  own: readonly DecidedRuleCharge[],
): ExplainedRule {
  const { normalized } = request;
  const counted = isMatch || own.length > 0 ? (keyFor(rule, normalized) ?? null) : null;
  const { id, place, match, onExceed, key, settle, escalate } = rule.definition;
  return {
    rule: id,
    place: place ?? null,
    isMatch,
    conditions: toConditions(match, normalized),
    notApplied,
    onExceed,
    keyType: describeKey(key),
    key: counted,
    from: own[0]?.ruleLimit.kind.from ?? null,
    exception: toException(rule, counted, request),
    switch: rule.switchedTo,
    settledBy: settle === undefined ? null : describeSettle(settle),
    limits: own.map(toExplainedLimit),
    ...(rule.escalation && { escalate }),
    ...toRegion(rule),
    blockedMs: orNull(Math.max(0, ...own.map(({ verdict }) => verdict.blockedMs ?? 0))),
  };
}

function toRegion({
  definition,
  lane,
}: CompiledRule): Pick<ExplainedRule, "across" | "region"> | undefined {
  if (lane.region === undefined) return undefined;
  return { across: definition.across ?? "each", region: lane.region };
}

function toExplainedLimit({ ruleLimit, units, verdict }: DecidedRuleCharge): ExplainedLimit {
  return {
    algorithm: ruleLimit.kind.limit.algorithm,
    limit: verdict.limit,
    remaining: verdict.remaining,
    resetMs: orNull(verdict.resetMs),
    cost: units,
    wouldPass: verdict.allowed,
    retryAfterMs: orNull(verdict.retryAfterMs),
    delayMs: verdict.delayMs,
  };
}

function toConditions(match: Match, normalized: NormalizedRequest): ExplainedCondition[] {
  const { paths, methods, hosts, headers, attributes, client } = match;
  const one = (on: ExplainedCondition["on"], wanted: string, part: Partial<Match>) => ({
    on,
    wanted,
    isMet: fits({ ...EMPTY_MATCH, ...part }, normalized),
  });
  return [
    ...(paths.length > 0 ? [one("path", paths.join(", "), { paths })] : []),
    ...(methods.length > 0 ? [one("method", methods.join(", "), { methods })] : []),
    ...(hosts.length > 0 ? [one("host", hosts.join(", "), { hosts })] : []),
    ...[...headers].map(([name, values]) =>
      one("header", toWanted(name, values), { headers: new Map([[name, values]]) }),
    ),
    ...[...attributes].map(([name, values]) =>
      one("attribute", toWanted(name, values), { attributes: new Map([[name, values]]) }),
    ),
    ...(client === undefined ? [] : clientParts(client)).map(([name, values, part]) =>
      one("client", toWanted(name, values), { client: part }),
    ),
  ];
}

/** What is asked of the client, one by one. */
function clientParts({
  ips,
  ranges,
  values,
}: ClientMatch): [string, readonly string[], ClientMatch][] {
  const parts = [...values].map(([name, wanted]): [string, readonly string[], ClientMatch] => [
    name,
    wanted,
    { ips: undefined, ranges: [], values: new Map([[name, wanted]]) },
  ]);
  return ips === undefined
    ? parts
    : [["ips", ranges, { ips, ranges, values: new Map() }], ...parts];
}

function toWanted(name: string, values: readonly string[]): string {
  return values.length === 0 ? name : `${name}: ${values.join(", ")}`;
}

function fits(match: Match, normalized: NormalizedRequest): boolean {
  return new Matcher([{ match }]).match(normalized).length > 0;
}

function orNull(number: number): number | null {
  return Number.isFinite(number) ? number : null;
}
