// A set of rules made ready to decide: matchers, keys, counters and stores found once, so that a
// request only looks them up.

import { ITEMS_A_STEP, type Steps } from "../../../base/steps.js";
import type { Limit } from "../../../limits/limits.js";
import type { FailurePolicy } from "../../../stores/store.js";
import { compileKey, type KeyOf, needsIdentity } from "../../identity-keys/key.js";
import { Matcher } from "../../match/matcher.js";
import { EMPTY_MATCH, type Match, type Rule, type RuleSet } from "../../rule.js";
import type { FindTenant } from "../../tenant-profile.js";
import type { CostFunctions } from "../cost.js";
import type { MeterPlace } from "../meter-place.js";
import type { Switches, SwitchState } from "../switches.js";
import { LongestDelays } from "./delay.js";
import { ExceptionsInForce } from "./exceptions-in-force.js";
import { KeySample, SampleBudget } from "./key-sample.js";
import type { Lane, Lanes } from "./lanes.js";
import type { RuleEscalation, RuleEscalations } from "./rule-escalation.js";
import { ruleInRegion } from "./rule-in-region.js";
import {
  type KnownCounters,
  type LimitKind,
  type LimitsContext,
  NO_COUNTERS,
  type RuleLimit,
  scopeOfTier,
  toRuleLimits,
} from "./rule-limits.js";
import { TenantCalendars } from "./tenant-calendars.js";
import { isOneLimit, isUniform } from "./uniform-rules.js";
import { mustBeUsable } from "./usable-rules.js";

/**
 * A rule, ready to be charged. What every request reads comes first: with ten thousand rules each part of the
 * processor's cache that a request touches counts (bench service/rules-scale).
 */
export interface CompiledRule extends MeterPlace {
  /** Whether all callers with a key are charged alike: no exemptions, no tiers, a constant cost. */
  readonly isUniform: boolean;
  /** Whether every caller with a key is charged one limit: the rule's or its tier's, and nothing else makes a difference. */
  readonly isOneLimit: boolean;
  readonly keyOf: KeyOf;
  /** The cost, if it is constant. */
  readonly units: number;
  /** Its limit, if it has one only. */
  readonly only: RuleLimit | undefined;
  readonly shadow: boolean;
  readonly lane: Lane;
  /** Watches whether keys come back, until that is known. */
  sample: KeySample | undefined;
  /** Whether responses show it. */
  readonly isShown: boolean;
  readonly definition: Rule;
  /** Its place in the order of rules: by priority, then as in the file. */
  readonly order: number;
  readonly match: Match;
  readonly limits: readonly RuleLimit[];
  readonly tiers: ReadonlyMap<string, readonly RuleLimit[]>;
  readonly overrides: ReadonlyMap<string, readonly RuleLimit[]>;
  /** Keys that the whole set exempts; undefined if there are none. */
  readonly exemptKeys: ReadonlySet<string> | undefined;
  /** Whether it needs to know who the caller is, or what its body says. */
  readonly isLate: boolean;
  /** False if the file or an operator switched it off. */
  readonly isOn: boolean;
  /** Undefined if there are none. */
  readonly exceptions: ExceptionsInForce | undefined;
  /** Undefined if the calendars of tenants make no difference. */
  readonly calendars: TenantCalendars | undefined;
  /** What an operator switched it to. */
  readonly switchedTo: SwitchState;
  /** Undefined if refusals block no caller. */
  readonly escalation: RuleEscalation | undefined;
}

/** A rule without its conditions on path, method, host and headers. */
export interface RuleOfCaller {
  readonly match: Match;
  readonly rule: CompiledRule;
}

/** What compiling needs besides the rules. */
export interface CompileOptions {
  readonly lanes: Lanes;
  readonly escalations: RuleEscalations;
  readonly onStoreFailure: FailurePolicy;
  readonly timeoutMs: number | undefined;
  readonly costs: CostFunctions;
  readonly seesResponses: boolean;
  /** What operators switched off, whatever the set says. */
  readonly switches: Switches;
  /** Finds the calendars of tenants. */
  readonly findTenant: FindTenant;
  /** The rules in force so far: counters that say the same stay the same objects. */
  readonly before: CompiledRules | undefined;
}

/** A set of rules, ready to decide. */
export class CompiledRules {
  readonly ruleSet: RuleSet;
  /** The kill switch: false lets every request pass and counts nothing. */
  readonly isOn: boolean;
  /** What an operator switched everything to. */
  readonly switchedTo: SwitchState;
  /** By id, those that are switched off included. */
  readonly byId: ReadonlyMap<string, CompiledRule>;
  /** Rules that need to know who the caller is, or what its body says. */
  readonly late: Matcher<CompiledRule>;
  /** Those of them that need the body. */
  readonly byBody: Matcher<CompiledRule>;
  readonly #enabled: readonly CompiledRule[];
  #early: Matcher<CompiledRule> | undefined;
  #earlyWithoutKeys: Matcher<CompiledRule> | undefined;
  #lateWithKeys: Matcher<CompiledRule> | undefined;
  #all: Matcher<CompiledRule> | undefined;
  #byCaller: Matcher<RuleOfCaller> | undefined;

  private constructor(ruleSet: RuleSet, parts: CompiledParts) {
    this.ruleSet = ruleSet;
    this.byId = parts.byId;
    this.#enabled = parts.enabled;
    this.switchedTo = parts.switchedTo;
    this.isOn = ruleSet.isEnabled && this.switchedTo !== "off" && this.#enabled.length > 0;
    this.late = parts.late;
    this.byBody = parts.byBody;
  }

  /** Makes rules ready to decide. @throws RulesError if the policy can't keep them. */
  static *compile(ruleSet: RuleSet, options: CompileOptions): Steps<CompiledRules> {
    yield* mustBeUsable(ruleSet.rules, options);
    // Charges of one step reach their store together.
    const stepOf = (rule: Rule) => `${options.lanes.of(rule).order}/${isLate(rule)}`;
    const delays = yield* LongestDelays.of(ruleSet.rules, stepOf);
    const keys = new Map<string, KeyOf>();
    const context = { delays, ruleSet, options, keys, samples: new SampleBudget() };
    const inOrder = ruleSet.rules.toSorted((a, b) => b.priority - a.priority);
    const all: CompiledRule[] = [];
    for (const rule of inOrder) all.push(yield* compileRule(rule, all.length, context));
    const enabled = all.filter(({ isOn }) => isOn);
    const compiled = new CompiledRules(ruleSet, {
      byId: new Map(all.map((rule) => [rule.definition.id, rule])),
      enabled,
      switchedTo: options.switches.all,
      late: yield* Matcher.make(enabled.filter((rule) => rule.isLate)),
      byBody: yield* Matcher.make(enabled.filter(({ definition }) => countsByBody(definition))),
    });
    yield* compiled.#makeMatchersOf(options.before);
    return compiled;
  }

  /** Those that requests have needed so far, or will if they needed none, so that the next one does not wait for them. */
  *#makeMatchersOf(before: CompiledRules | undefined): Steps<void> {
    if (before === undefined) return;
    const enabled = this.#enabled;
    const make = Matcher.make<CompiledRule>;
    const hasAll = before.#all !== undefined;
    const hasEarly = before.#early !== undefined || !hasAll || this.late.isEmpty;
    if (hasEarly) this.#early = yield* make(enabled.filter(isEarly));
    if (hasAll && !this.late.isEmpty) this.#all = yield* make(enabled);
    if (before.#byCaller !== undefined) {
      this.#byCaller = yield* Matcher.make(enabled.map(toRuleOfCaller));
    }
    if (!this.#countsByApiKey) return;
    if (before.#earlyWithoutKeys !== undefined) {
      this.#earlyWithoutKeys = yield* make(enabled.filter(isEarlyWithoutKey));
    }
    if (before.#lateWithKeys !== undefined) {
      this.#lateWithKeys = yield* make(enabled.filter((rule) => !isEarlyWithoutKey(rule)));
    }
  }

  // Either `early` and `late` are asked, or `all`, by whether there is more to find out about requests.

  /** Rules that need no more than what every request shows. */
  get early(): Matcher<CompiledRule> {
    this.#early ??= new Matcher(this.#enabled.filter(isEarly));
    return this.#early;
  }

  /** `early` without the rules that count by API key: for requests whose key has to be resolved first. */
  get earlyWithoutKeys(): Matcher<CompiledRule> {
    this.#earlyWithoutKeys ??= this.#countsByApiKey
      ? new Matcher(this.#enabled.filter(isEarlyWithoutKey))
      : this.early;
    return this.#earlyWithoutKeys;
  }

  /** `late` and the rules that count by API key. */
  get lateWithKeys(): Matcher<CompiledRule> {
    this.#lateWithKeys ??= this.#countsByApiKey
      ? new Matcher(this.#enabled.filter((rule) => !isEarlyWithoutKey(rule)))
      : this.late;
    return this.#lateWithKeys;
  }

  /** Whether no rule can do without the API key, and none needs the body: all of them are decided when it is resolved. */
  get startsWithApiKey(): boolean {
    return this.earlyWithoutKeys.isEmpty && this.byBody.isEmpty;
  }

  get #countsByApiKey(): boolean {
    return this.#enabled.some((rule) => !rule.isLate && countsByApiKey(rule));
  }

  /** Both. */
  get all(): Matcher<CompiledRule> {
    this.#all ??= this.late.isEmpty ? this.early : new Matcher(this.#enabled);
    return this.#all;
  }

  /** The one rule in force; undefined if there are several, or none, or not for every caller. */
  get only(): CompiledRule | undefined {
    const isForAll = this.isOn && this.ruleSet.exempt.ips === undefined;
    return isForAll && this.#enabled.length === 1 ? this.#enabled[0] : undefined;
  }

  /** All rules by what they ask of the caller, and not of what it asks for. */
  get byCaller(): Matcher<RuleOfCaller> {
    this.#byCaller ??= new Matcher(this.#enabled.map(toRuleOfCaller));
    return this.#byCaller;
  }
}

/** What the rules of a set were made into. */
interface CompiledParts extends Pick<CompiledRules, "byId" | "switchedTo" | "late" | "byBody"> {
  readonly enabled: readonly CompiledRule[];
}

interface CompileContext {
  readonly ruleSet: RuleSet;
  readonly delays: LongestDelays;
  readonly options: CompileOptions;
  readonly samples: SampleBudget;
  /** The functions that make keys, by dimensions: one that many rules share stays in the processor's cache. */
  readonly keys: Map<string, KeyOf>;
}

function* compileRule(written: Rule, order: number, context: CompileContext): Steps<CompiledRule> {
  if (order % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
  const { options, ruleSet } = context;
  const rule = ruleInRegion(written, options.lanes);
  const known = options.before?.byId.get(rule.id);
  const before = countersOf(known);
  const limits = toLimitsContext(rule, context);
  const toLimits = (list: readonly Limit[], from: LimitKind["from"], scope: string) =>
    toRuleLimits(list, limits, { from, scope, before });
  const each = (
    lists: ReadonlyMap<string, readonly Limit[]>,
    from: LimitKind["from"],
    toScope: (name: string) => string,
  ) =>
    lists.size === 0
      ? NO_LISTS
      : new Map([...lists].map(([name, list]) => [name, toLimits(list, from, toScope(name))]));
  const shadow = rule.onExceed === "shadow";
  const keyOf = toKeyOf(rule, context.keys);
  const switchedTo = options.switches.of(rule.id);
  const calendars = TenantCalendars.of(limits, options.findTenant);
  const ownLimits = toLimits(rule.limits, "rule", rule.id);
  const tiers = each(rule.tiers, "tier", (tier) => scopeOfTier(rule, tier));
  return {
    isUniform: calendars === undefined && isUniform(rule, ruleSet),
    isOneLimit: calendars === undefined && isOneLimit(rule, ruleSet),
    keyOf,
    units: rule.cost.kind === "constant" ? rule.cost.units : 0,
    only: ownLimits.length === 1 ? ownLimits[0] : undefined,
    shadow,
    lane: limits.lane,
    sample: KeySample.of(rule, context.samples),
    isShown: rule.isExposed && !shadow,
    meter: undefined,
    definition: written,
    order,
    match: rule.match,
    limits: ownLimits,
    tiers,
    overrides: each(rule.overrides, "override", () => rule.id),
    exemptKeys: ruleSet.exempt.keys.size > 0 ? ruleSet.exempt.keys : undefined,
    isLate: isLate(rule),
    isOn: rule.isEnabled && switchedTo !== "off",
    exceptions:
      rule.exceptions === undefined
        ? undefined
        : yield* ExceptionsInForce.make(rule.exceptions, { ...limits, keyOf }, known?.exceptions),
    calendars,
    switchedTo,
    escalation: options.escalations.of(rule, limits.lane, [ownLimits, ...tiers.values()]),
  };
}

/** The counters of a rule. Made only when rules are replaced, so that no memory is kept for it. */
function countersOf(rule: CompiledRule | undefined): KnownCounters {
  if (rule === undefined) return NO_COUNTERS;
  const limits = [rule.limits, ...rule.tiers.values(), ...rule.overrides.values()].flat();
  return new Map(limits.map(({ counter }) => [JSON.stringify(counter), counter]));
}

function toLimitsContext(rule: Rule, { delays, options }: CompileContext): LimitsContext {
  return {
    rule,
    lane: options.lanes.of(rule),
    extraPermitMs: delays.before(rule),
    onStoreFailure: rule.onStoreFailure ?? options.onStoreFailure,
    timeoutMs: rule.timeoutMs ?? options.timeoutMs,
  };
}

/** The function that makes the keys of a rule. It is shared, unless it depends on the rule's own paths. */
function toKeyOf({ key, match }: Rule, keys: Map<string, KeyOf>): KeyOf {
  if (key.some(({ kind }) => kind === "endpoint")) return compileKey(key, match.paths);
  const text = JSON.stringify(key);
  const keyOf = keys.get(text) ?? compileKey(key);
  keys.set(text, keyOf);
  return keyOf;
}

function toRuleOfCaller(rule: CompiledRule): RuleOfCaller {
  const { attributes, client } = rule.match;
  return { match: { ...EMPTY_MATCH, attributes, client }, rule };
}

const NO_LISTS: ReadonlyMap<string, readonly RuleLimit[]> = new Map();

function isLate({ key, tiers, match, exceptions, cost, requestPriority }: Rule): boolean {
  const isByPlan = exceptions !== undefined || requestPriority?.kind === "plan";
  const isByCaller = tiers.size > 0 || match.attributes.size > 0 || isByPlan;
  return isByCaller || cost.kind === "json" || key.some(needsIdentity);
}

function isEarly({ isLate }: CompiledRule): boolean {
  return !isLate;
}

function isEarlyWithoutKey(rule: CompiledRule): boolean {
  return !rule.isLate && !countsByApiKey(rule);
}

function countsByApiKey({ definition: { key } }: CompiledRule): boolean {
  return key.some(({ kind }) => kind === "apiKey");
}

function countsByBody({ key, cost }: Rule): boolean {
  return cost.kind === "json" || key.some(({ kind }) => kind === "body");
}
