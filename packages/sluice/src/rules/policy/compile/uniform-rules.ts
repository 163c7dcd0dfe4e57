// Rules that charge all callers alike: no exemptions, no single keys, a constant cost. Requests under them take a shorter
// path.

import type { Limit } from "../../../limits/limits.js";
import type { Rule, RuleSet } from "../../rule.js";

/** Whether all callers with a key are charged the same limits. */
export function isUniform(rule: Rule, ruleSet: RuleSet): boolean {
  return isAlike(rule, ruleSet) && rule.tiers.size === 0 && rule.limits.length > 0;
}

/** Whether every caller with a key is charged one limit: the rule's own or that of its tier. */
export function isOneLimit(rule: Rule, ruleSet: RuleSet): boolean {
  const isOne = (limits: readonly Limit[]) => limits.length === 1;
  return isAlike(rule, ruleSet) && isOne(rule.limits) && [...rule.tiers.values()].every(isOne);
}

/** Whether all callers with a key and of the same tier are charged alike. */
function isAlike(rule: Rule, { exempt }: RuleSet): boolean {
  const { ips, keys } = rule.exempt;
  const isNobodyExempt = ips === undefined && keys.size === 0 && exempt.keys.size === 0;
  const isNobodySpecial = rule.overrides.size === 0 && rule.exceptions === undefined;
  const isForAll = rule.rolloutPercent >= 100 && rule.cost.kind === "constant";
  return isNobodyExempt && isNobodySpecial && isForAll;
}
