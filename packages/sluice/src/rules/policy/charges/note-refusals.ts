// Counts the refusals of a request under rules with `escalate`.

import type { RuleEscalation } from "../compile/rule-escalation.js";
import type { DecidedRuleCharge } from "./decided-charge.js";

/**
 * Counts the refusals of a request, once for each rule that refused it. Under a rule with `when`, a refusal counts only if
 * the key has used up its limit: not if what requests under way have reserved would have been enough.
 */
export function noteRefusals(results: readonly DecidedRuleCharge[], nowMs: number): void {
  let noted: RuleEscalation | undefined;
  for (let i = 0; i < results.length; i++) {
    const { rule, key, units, counter, verdict } = results[i];
    const { escalation } = rule;
    if (escalation === undefined || verdict.allowed || escalation === noted) continue;
    if (escalation.isExcused(key, units, verdict, nowMs)) continue;
    escalation.note(key, counter.scope, verdict, nowMs);
    noted = escalation;
  }
}
