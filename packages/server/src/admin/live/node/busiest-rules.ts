// The rules of a reading: what each has counted since the reading before, the busiest first.

import type { LiveCounts, RuleCounts } from "../../../telemetry/live/live-counts.js";
import { NO_OUTCOMES, sizeOf, subtractOutcomes } from "../../../telemetry/tally/outcome-counts.js";
import { cut } from "./bounded-strings.js";

/** Rules of a span, the busiest; a report to another node has fewer. */
const RULES_MAX = 1_000;

/** What was counted in between, by rule, the busiest first. */
export function toBusiestRules(now: LiveCounts, before: LiveCounts): RuleCounts[] {
  const known = new Map(before.rules.map((each) => [each.rule, each]));
  return now.rules
    .map((each) => ({ ...each, ...subtractOutcomes(each, known.get(each.rule) ?? NO_OUTCOMES) }))
    .sort((a, b) => busynessOf(b) - busynessOf(a))
    .slice(0, RULES_MAX)
    .map((each) => ({
      ...each,
      rule: cut(each.rule),
      keyType: cut(each.keyType),
      endpoint: cut(each.endpoint),
    }));
}

/** Rules in shadow mode are ranked by what they would have refused, the only count that they have. */
export function busynessOf(rule: RuleCounts): number {
  return sizeOf(rule) + rule.shadowBlocked;
}
