// Rules as workers decide them. Each call of a worker's store is a message to the primary, so a rule that can be
// leased is leased, unless its `consistency` says otherwise or it is durable: workers have the ledger themselves.

import type { Limit } from "sluice";
import type { Rule, RuleSet } from "sluice/rules";
import { knownIdsWithConsistency } from "../../core/rules/known-rules.js";
import { idsWithConsistency } from "../../core/rules/written-consistency.js";
import { isSameWritten, parseWritten, type WrittenRules } from "../../core/rules-in-force.js";

/**
 * Parses rules for a worker: those that say no `consistency` are leased if they can be. Permits, shapers
 * and rules that make requests wait can't be. Logs are not either: leased, they count for longer than their
 * window, and the primary, which decides by the same counters, would not know. The version stays that of
 * the rules as written.
 */
export function toWorkerRules(written: WrittenRules): RuleSet {
  return toLeasedRules(parseWritten(written), written);
}

/** The same for rules that were parsed: those whose limits, exceptions included, can be leased are. */
export function toLeasedRules(set: RuleSet, written: WrittenRules): RuleSet {
  const explicit = idsOf(written);
  const rules = set.rules.map((rule) => {
    const isLeased = !explicit.has(rule.id) && rule.durable === undefined && canBeLeased(rule);
    return isLeased ? { ...rule, consistency: "leased" as const } : rule;
  });
  return { ...set, rules };
}

/** The ids of the rules that were read last: exceptions change more often than rules. */
let latest: { readonly written: WrittenRules; readonly ids: ReadonlySet<string> } | undefined;

/** The ids of rules with a `consistency`. Parsed rules don't distinguish it from the default. */
function idsOf(written: WrittenRules): ReadonlySet<string> {
  if (latest !== undefined && isSameWritten(latest.written, written)) return latest.ids;
  const ids =
    "inline" in written ? idsWithConsistency(written.inline) : knownIdsWithConsistency(written);
  latest = { written, ids: new Set(ids) };
  return latest.ids;
}

function canBeLeased({ limits, tiers, overrides, exceptions, onExceed }: Rule): boolean {
  const all = [limits, ...tiers.values(), ...overrides.values()].flat();
  const excepted = [...(exceptions?.values() ?? [])].flatMap((byValue) =>
    [...byValue.values()].flat().flatMap((each) => each.limits),
  );
  return onExceed !== "delay" && all.every(isLeasable) && excepted.every(isLeasable);
}

function isLeasable(limit: Limit): boolean {
  switch (limit.algorithm) {
    case "concurrency":
    case "slidingWindowLog":
    case "sketch":
      return false;
    case "leakyBucket":
      return limit.mode === "meter";
    default:
      return true;
  }
}
