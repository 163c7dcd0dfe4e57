// The rules in force as the admin port shows them: what each says and whether it is off. Keys of single
// callers (overrides, exemptions) are counted and not shown.

import type { Limit } from "sluice";
import type { Policy, Rule } from "sluice/rules";
import { toKeyType } from "../telemetry/rule-meters.js";

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
    keyType: toKeyType(rule),
    limits: rule.limits.map(toLimitView),
    tiers: Object.fromEntries([...rule.tiers].map(([tier, own]) => [tier, own.map(toLimitView)])),
    overrides: rule.overrides.size,
    exempt: { ranges: rule.exempt.ranges, keys: rule.exempt.keys.size },
    consistency: rule.consistency,
    onExceed: rule.onExceed,
    onMissing: rule.onMissing,
    onStoreFailure: rule.onStoreFailure ?? null,
    priority: rule.priority,
    rolloutPercent: rule.rolloutPercent,
    shards: rule.shards,
    isExposed: rule.isExposed,
  };
}

/** A limit by the names and numbers of a file. */
function toLimitView(limit: Limit): Record<string, unknown> {
  const { algorithm } = limit;
  switch (algorithm) {
    case "tokenBucket":
      return { [algorithm]: { capacity: limit.capacity, refill: limit.refill } };
    case "leakyBucket": {
      const { ratePerSecond, queueSize, mode } = limit;
      return { [algorithm]: { ratePerSecond, queueSize, mode } };
    }
    case "fixedWindow":
      return { [algorithm]: { limit: limit.limit, windowMs: limit.windowMs, align: limit.align } };
    case "quota":
      return { [algorithm]: { limit: limit.limit, period: limit.period } };
    case "concurrency":
      return { [algorithm]: { limit: limit.limit, permitMs: limit.permitMs } };
    default:
      return { [algorithm]: { limit: limit.limit, windowMs: limit.windowMs } };
  }
}
