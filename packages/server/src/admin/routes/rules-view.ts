// The rules in force as the admin port shows them: what each says, and whether it is switched off or to deny. Keys of single
// callers (overrides, exemptions) are counted and not shown.

import type { Limit } from "sluice";
import { describeKey, type Policy, type Rule, type SwitchState } from "sluice/rules";
import { numbersOf } from "../../base/limit-numbers.js";

/** The rule set in force, as JSON. */
export function toRulesView({ rules: set, switches, version }: Policy): Record<string, unknown> {
  const states = new Map(switches.rules.map(({ rule, state }) => [rule, state]));
  return {
    version,
    isEnabled: set.isEnabled,
    /** The switch of all rules. */
    switchedTo: switches.all,
    /** Rules that operators switched one by one, also those that are gone meanwhile. */
    switches: switches.rules,
    rules: set.rules.map((rule) => {
      const switchedTo = stronger(switches.all, states.get(rule.id) ?? "on");
      const isOn = set.isEnabled && rule.isEnabled && switchedTo === "on";
      return { ...toRuleView(rule), switchedTo, isOn };
    }),
  };
}

/** The stronger of the switch of all rules and that of one: `deny` wins over `off`, and `off` over `on`. */
function stronger(all: SwitchState, own: SwitchState): SwitchState {
  if (all === "deny" || own === "deny") return "deny";
  return all === "off" ? all : own;
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
    across: rule.across ?? "each",
    durable: rule.durable ?? null,
    onExceed: rule.onExceed,
    onMissing: rule.onMissing,
    escalate: rule.escalate ?? null,
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
