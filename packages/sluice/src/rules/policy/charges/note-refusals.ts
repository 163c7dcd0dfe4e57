// Counts the refusals of a request under rules with `escalate`.

import type { RuleEscalation } from "../compile/rule-escalation.js";
import type { DecidedRuleCharge } from "./decided-charge.js";

/** Counts the refusals of a request, once for each rule that refused it. */
export function noteRefusals(results: readonly DecidedRuleCharge[], nowMs: number): void {
  let noted: RuleEscalation | undefined;
  for (let i = 0; i < results.length; i++) {
    const { rule, key, counter, verdict } = results[i];
    const { escalation } = rule;
    if (escalation === undefined || verdict.allowed || escalation === noted) continue;
    escalation.note(key, counter.scope, verdict, nowMs);
    noted = escalation;
  }
}
