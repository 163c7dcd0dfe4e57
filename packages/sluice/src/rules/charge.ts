// The charges of a request: for each rule that matches and each of its limits, what is charged to whom.

import type { Charge, Counter } from "../stores/store.js";
import type { CompiledRule, RuleLimit } from "./compile.js";
import type { CostFunctions } from "./cost.js";
import { toUnits } from "./cost.js";
import { isInRollout } from "./rollout.js";
import type { Subject } from "./subject.js";

/** One charge, with the rule that it comes from. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule;
  readonly ruleLimit: RuleLimit;
  readonly shadow: boolean;
}

/** When a request happens, by both clocks. */
export interface Moment {
  readonly nowMs: number;
  /** By the wall clock, for quotas. */
  readonly wallMs: number;
}

/** A rule that refuses who does not say by what to count it. */
export interface Missing {
  readonly rule: CompiledRule;
}

/**
 * Adds the charges of one rule. Returns false if the rule refuses because the request lacks a
 * dimension of its key.
 */
export function addCharges(
  rule: CompiledRule,
  subject: Subject,
  context: { readonly moment: Moment; readonly costs: CostFunctions; readonly isExemptIp: boolean },
  charges: RuleCharge[],
): boolean {
  const { rule: said } = rule;
  let key = rule.keyOf(subject);
  if (key === undefined) {
    if (said.onMissing === "skip") return true;
    const { address } = subject;
    if (said.onMissing === "refuse" || address === undefined) return false;
    key = `ip:${address}`;
  }
  if (said.exempt.keys.size > 0 && said.exempt.keys.has(key)) return true;
  if (said.exempt.ips !== undefined && isExempt(said.exempt.ips, subject)) return true;
  if (said.rolloutPercent < 100 && !isInRollout(said, key)) return true;
  const limits = limitsOf(rule, key, subject);
  if (limits.length === 0) return true;
  const cost = toUnits(said.cost, subject.facts, context.costs);
  const { nowMs, wallMs } = context.moment;
  for (const ruleLimit of limits) {
    const charge = new ChargeOfRule(
      ruleLimit.counter,
      key,
      ruleLimit.isPermit ? 1 : cost,
      ruleLimit.isQuota ? wallMs : nowMs,
      rule,
      ruleLimit,
    );
    charges.push(charge);
  }
  return true;
}

function isExempt(ips: { has(address: string): boolean }, subject: Subject): boolean {
  const { ip } = subject.facts;
  return ip !== undefined && ips.has(ip);
}

/** The limits that hold for a key: its own, else those of its tier, else the rule's. */
export function limitsOf(
  rule: CompiledRule,
  key: string,
  { facts }: Subject,
): readonly RuleLimit[] {
  if (rule.overrides.size > 0) {
    const own = rule.overrides.get(key);
    if (own !== undefined) return own;
  }
  if (rule.tiers.size === 0 || facts.tier === undefined) return rule.limits;
  return rule.tiers.get(facts.tier) ?? rule.limits;
}

/** All fields are always there, so that every charge has the same shape. */
class ChargeOfRule implements RuleCharge {
  readonly shadow: boolean;
  readonly isFinal: boolean;

  constructor(
    readonly counter: Counter,
    readonly key: string,
    readonly cost: number,
    readonly nowMs: number,
    readonly rule: CompiledRule,
    readonly ruleLimit: RuleLimit,
  ) {
    this.shadow = rule.isShadow;
    this.isFinal =
      !ruleLimit.isPermit && rule.rule.when === undefined && rule.rule.settle === undefined;
  }
}
