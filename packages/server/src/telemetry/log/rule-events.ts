// Lines of the log about rules: those that an operator switched, and those that have no effect.

import type { Logger } from "pino";
import type { RuleSwitched, RuleUseless } from "sluice/rules";

/** Logs what happened to a rule. */
export function logRuleEvent(log: Logger, event: RuleSwitched | RuleUseless): void {
  if (event.kind !== "useless-rule") {
    log.warn({ rule: event.rule ?? null }, `${event.rule ?? "every rule"} was ${event.kind}`);
    return;
  }
  const { rule, keysSeen, seenTwice } = event;
  log.warn(
    { rule, keysSeen, seenTwice },
    "most keys of this rule are seen only once; check what it counts by",
  );
}
