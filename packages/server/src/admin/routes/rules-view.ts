// The rules in force as the admin port shows them: what each says and whether it is off. Keys of single
// callers (overrides, exemptions) are counted and not shown.

import type { Limit } from "sluice";
import { describeKey, type Policy, type Rule } from "sluice/rules";
import { numbersOf } from "../../base/limit-numbers.js";

/** The rule set in force, as JSON. */
export function toRulesView({ rules: set, switchedOff, version }: Policy): Record<string, unknown> {
  const off = new Set(switchedOff.rules);
  return {
    version,
    isEnabled: set.isEnabled,
    isSwitchedOff: switchedOff.all,
    /** Ids that operators switched off one by one, also of rules that are gone meanwhile. */
    switchedOff: [...off],
    rules: set.rules.map((rule) => ({
      ...toRuleView(rule),
      isOn: set.isEnabled && !switchedOff.all && rule.isEnabled && !off.has(rule.id),
    })),
  };
}

function toRuleView(rule: Rule): Record<string, unknown> {
  const { paths, methods, hosts, headers, attributes } = rule.match;
  return {
    id: rule.id,
    place: rule.place ?? null,
    isEnabled: rule.isEnabled,
    match: {
      paths,
      methods,
      hosts,
      headers: Object.fromEntries(headers),
      attributes: Object.fromEntries(attributes),
    },
    keyType: describeKey(rule.key),
    limits: rule.limits.map(toLimitView),
    tiers: Object.fromEntries([...rule.tiers].map(([tier, own]) => [tier, own.map(toLimitView)])),
    overrides: rule.overrides.size,
    exempt: { ranges: rule.exempt.ranges, keys: rule.exempt.keys.size },
    consistency: rule.consistency,
    durable: rule.durable ?? null,
    onExceed: rule.onExceed,
    onMissing: rule.onMissing,
    onStoreFailure: rule.onStoreFailure ?? null,
    priority: rule.priority,
    rolloutPercent: rule.rolloutPercent,
    shards: rule.shards,
    isExposed: rule.isExposed,
  };
}

/** A limit as a file writes it. */
function toLimitView(limit: Limit): Record<string, unknown> {
  return { [limit.algorithm]: numbersOf(limit) };
}
