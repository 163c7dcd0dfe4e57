// The charges of a request: for each rule that matches and each of its limits, what is charged to whom;
// or why a rule that matches is not charged.

import { spreadHash } from "../../../base/spread-hash.js";
import type { Charge, Counter } from "../../../stores/store.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import type { Exempt } from "../../rule.js";
import type { CompiledRule } from "../compile/compile.js";
import { toDelayedCost } from "../compile/delay.js";
import type { RuleLimit } from "../compile/rule-limits.js";
import { type CostFunctions, toUnits } from "../cost.js";

/** One charge, with the rule that it comes from. What is answered to it is a {@link DecidedRuleCharge}. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule;
  readonly ruleLimit: RuleLimit;
  readonly shadow: boolean;
  /** Whether it is settled when the request has ended: permits, reservations, rules with `when`. */
  readonly isHeld: boolean;
  /** Whether it is held because the caller asked for it, whatever its rule says. */
  readonly isReserved: boolean;
  /** False if it has to be refunded when something else refuses, or when the request does not go on. */
  readonly isFinal: boolean;
  /** What the request costs under the rule; what is charged is more where it can never fit. */
  readonly units: number;
}

/** What charging needs to know besides the request. */
export interface ChargeContext {
  readonly nowMs: number;
  /** By the wall clock, for quotas. */
  readonly wallMs: number;
  readonly costs: CostFunctions;
  /** What the request costs under every rule, instead of what the rules say. */
  readonly cost: number | undefined;
  /** Whether everything is held until the request says what it really cost. */
  readonly isReserved: boolean;
  /** Whether nothing that is charged later can refuse the request. */
  readonly isLast: boolean;
}

/**
 * Why a rule that matches is not charged: the caller's address or key is exempt, the request has
 * no value for part of the key (`refused`: and may not pass without one), the key is not part of the rollout
 * yet, or its tier or override has no limit.
 */
export type NotCharged =
  | "exempt-ip"
  | "exempt-key"
  | "missing"
  | "refused"
  | "rollout"
  | "unlimited";

/** Adds the charges of one rule; or returns why there are none. */
export function addCharges(
  rule: CompiledRule,
  normalized: NormalizedRequest,
  context: ChargeContext,
  charges: RuleCharge[],
): NotCharged | undefined {
  if (rule.isUniform) {
    // Most rules, and so in as few steps as possible.
    const key = rule.keyOf(normalized);
    if (key !== undefined) {
      const { only } = rule;
      const cost = context.cost ?? rule.units;
      if (only === undefined)
        return push(rule, rule.limits, key, cost, normalized, context, charges);
      charges.push(new ChargeOfRule(rule, only, key, cost, context, normalized));
      return undefined;
    }
  }
  const { definition: said } = rule;
  if (said.exempt.ips !== undefined && isExemptIp(said.exempt, normalized)) return "exempt-ip";
  const key = keyFor(rule, normalized);
  if (key === undefined) return refusesMissing(rule) ? "refused" : "missing";
  if (isExemptKey(rule, key)) return "exempt-key";
  if (said.rolloutPercent < 100 && !isInRollout(said, key)) return "rollout";
  const found = limitsOf(rule, key, normalized, context);
  if (found.length === 0) return "unlimited";
  const { calendars } = rule;
  const limits = calendars === undefined ? found : calendars.limitsOf(found, normalized, key);
  const cost = context.cost ?? toUnits(said.cost, normalized.facts, context.costs);
  return push(rule, limits, key, cost, normalized, context, charges);
}

/** The one charge of a rule that charges every caller one limit; undefined for other rules, or if there is no key. */
export function toOnlyCharge(
  rule: CompiledRule,
  normalized: NormalizedRequest,
  context: ChargeContext,
): RuleCharge | undefined {
  if (!rule.isOneLimit) return undefined;
  const key = rule.keyOf(normalized);
  if (key === undefined) return undefined;
  const limits = rule.isUniform ? rule.limits : limitsOfTier(rule, normalized);
  const cost = context.cost ?? rule.units;
  return new ChargeOfRule(rule, limits[0], key, cost, context, normalized);
}

/** The charge of a rule with one limit that all callers with a key are charged alike. */
export function toUniformCharge(rule: CompiledRule, key: string, nowMs: number): RuleCharge {
  const context = toContext(nowMs, false, true);
  return new ChargeOfRule(rule, rule.limits[0], key, rule.units, context, undefined);
}

const NO_COSTS: CostFunctions = new Map();

/** The same charge, to be refunded if something after it refuses. */
export function toRevocable(charge: RuleCharge): RuleCharge {
  if (!charge.isFinal) return charge;
  const { rule, ruleLimit, key, units, nowMs, isReserved, caller } = charge;
  const context = toContext(nowMs, isReserved, false);
  return new ChargeOfRule(rule, ruleLimit, key, units, context, undefined, caller);
}

/** The context of a charge whose time and cost are known. No spread: it took a tenth of a refusal. */
function toContext(nowMs: number, isReserved: boolean, isLast: boolean): ChargeContext {
  return { nowMs, wallMs: nowMs, costs: NO_COSTS, cost: undefined, isReserved, isLast };
}

function push(
  rule: CompiledRule,
  limits: readonly RuleLimit[],
  key: string,
  cost: number,
  normalized: NormalizedRequest,
  context: ChargeContext,
  charges: RuleCharge[],
): undefined {
  for (let i = 0; i < limits.length; i++) {
    charges.push(new ChargeOfRule(rule, limits[i], key, cost, context, normalized));
  }
}

/** The key of a request, that of its address if the rule falls back to it. */
export function keyFor(rule: CompiledRule, normalized: NormalizedRequest): string | undefined {
  const key = rule.keyOf(normalized);
  if (key !== undefined || rule.definition.onMissing !== "ip") return key;
  const { address } = normalized;
  return address === undefined ? undefined : `ip:${address}`;
}

/** Not even the address is known where a rule falls back to it: nothing is left but to refuse. */
function refusesMissing({ definition: rule, shadow }: CompiledRule): boolean {
  return rule.onMissing !== "skip" && !shadow;
}

/** Whether the caller's address is in an exempt range. */
export function isExemptIp({ ips }: Exempt, { facts }: NormalizedRequest): boolean {
  if (ips === undefined) return false;
  const { ip } = facts;
  return ip !== undefined && ips.has(ip);
}

function isExemptKey({ definition: rule, exemptKeys }: CompiledRule, key: string): boolean {
  const { keys } = rule.exempt;
  return (keys.size > 0 && keys.has(key)) || (exemptKeys?.has(key) ?? false);
}

/** A rollout selects its keys in steps of a hundredth of a percent. */
const ROLLOUT_STEPS = 10_000;

/**
 * Whether the rule applies to this key: to a share of its keys, always the same ones. As the share grows, keys only
 * join. Other rules select other keys.
 */
function isInRollout({ id, rolloutPercent }: CompiledRule["definition"], key: string): boolean {
  const step = spreadHash(key, spreadHash(id)) % ROLLOUT_STEPS;
  return step < (rolloutPercent / 100) * ROLLOUT_STEPS;
}

/** The limits that hold for a key: its own, else those of an exception, else those of its tier, else the rule's. */
function limitsOf(
  rule: CompiledRule,
  key: string,
  normalized: NormalizedRequest,
  times: { readonly wallMs: number },
): readonly RuleLimit[] {
  if (rule.overrides.size > 0) {
    const own = rule.overrides.get(key);
    if (own !== undefined) return own;
  }
  if (rule.exceptions !== undefined) {
    const excepted = rule.exceptions.limitsOf(normalized, times);
    if (excepted !== undefined) return excepted;
  }
  return limitsOfTier(rule, normalized);
}

function limitsOfTier({ tiers, limits }: CompiledRule, { facts }: NormalizedRequest) {
  if (tiers.size === 0) return limits;
  const { tier } = facts;
  return tier === undefined ? limits : (tiers.get(tier) ?? limits);
}

/** All fields are always there, so that every charge has the same shape. */
class ChargeOfRule implements RuleCharge {
  readonly counter: Counter;
  readonly key: string;
  readonly cost: number;
  readonly units: number;
  readonly nowMs: number;
  readonly rule: CompiledRule;
  readonly ruleLimit: RuleLimit;
  readonly shadow: boolean;
  readonly caller: string | undefined;
  readonly isReserved: boolean;
  readonly isFinal: boolean;

  constructor(
    rule: CompiledRule,
    ruleLimit: RuleLimit,
    key: string,
    cost: number,
    context: ChargeContext,
    normalized: NormalizedRequest | undefined,
    caller?: string,
  ) {
    this.counter = ruleLimit.counter;
    this.key = key;
    const { kind } = ruleLimit;
    this.units = kind.isPermit ? 1 : cost;
    this.cost = kind.isEnlarged ? toDelayedCost(cost, kind.limit, this.counter.limit) : this.units;
    this.nowMs = kind.isQuota ? context.wallMs : context.nowMs;
    this.rule = rule;
    this.ruleLimit = ruleLimit;
    this.shadow = rule.shadow;
    this.caller =
      rule.lane.isSharded && normalized !== undefined ? callerOf(normalized, rule.isLate) : caller;
    this.isReserved = context.isReserved;
    // The charge is refunded if the request has to wait and no room is left to wait in.
    const isTaken = !kind.isHeld && !kind.mayDelay && !context.isReserved;
    this.isFinal = isTaken && context.isLast;
  }

  get isHeld(): boolean {
    return this.isReserved || this.ruleLimit.kind.isHeld;
  }
}

/**
 * Who meets the same part of a limit that is cut into shards. A rule that does not wait for the identity
 * goes by what is known before, also where the user happens to be known already.
 */
function callerOf({ facts, address }: NormalizedRequest, isLate: boolean): string | undefined {
  const { user, apiKey } = facts;
  return isLate ? (user ?? apiKey ?? address) : (apiKey ?? address ?? user);
}
