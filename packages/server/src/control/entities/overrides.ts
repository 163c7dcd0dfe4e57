// Overrides: other limits of one rule for one caller, with a reason and, usually, an end.

import type { RuleException } from "sluice/rules";
import { object, type ReadAs, required } from "sluice/shapes";
import type { CollectionKind } from "./collection.js";
import { endsAtMs, limitInput, reason, ruleId } from "./entity-shapes.js";
import { mustFitRules } from "./rule-references.js";
import { callerSubject, toSubject } from "./subjects.js";

/** Other numbers for one caller under one rule. */
export const overrideShape = object({
  subject: required(callerSubject, "Whom it is for."),
  rule: required(ruleId, "Under which rule."),
  limit: required(limitInput, "Instead of the limits of the rule, the tier and the plan."),
  endsAtMs,
  reason,
});

/** An override. */
export type Override = ReadAs<typeof overrideShape>;

/** Overrides, listed by the caller that they are for. */
export const overrides: CollectionKind<Override> = {
  kind: "override",
  noun: "override",
  shape: overrideShape,
  parentOf: ({ subject }) => subject,
  check: ({ id, body }, entities, rulesUse) =>
    mustFitRules(entities, { kind: "override", id, rulesUse }, toWritten(body)),
};

function toWritten(override: Override) {
  return overrideExceptions(override).map((one) => ({ ...one, field: "limit" }));
}

/** The exceptions that an override makes. */
export function overrideExceptions({ subject, rule, limit, endsAtMs }: Override): RuleException[] {
  const caller = toSubject(subject);
  if (caller === undefined || caller.by === "ip") return [];
  return [{ ruleId: rule, by: caller.by, value: caller.value, limits: limit, endsAtMs }];
}
