// Plans: what tenants pay for. A plan stands for a tier of the rules and may have limits of its own.

import type { RuleException } from "sluice/rules";
import { object, optional, type ReadAs, recordOf, withDefault } from "sluice/shapes";
import { ServerError, show } from "../../base/errors.js";
import type { CollectionKind } from "./collection.js";
import { entityName, limitInput, ruleId } from "./entity-shapes.js";
import { mustFitRules } from "./rule-references.js";

const RULES_MAX = 1_000;

/** What tenants pay for: the tier that rules know, and other limits where the plan has its own. */
export const planShape = object({
  tier: optional(entityName, "The tier of rules that the plan stands for. Default: none."),
  limits: withDefault(
    recordOf(ruleId, limitInput, { countMin: 0, countMax: RULES_MAX }),
    {},
    "Limits by the id of a rule, instead of those of the tier.",
  ),
});

/** A plan. */
export type Plan = ReadAs<typeof planShape>;

/** Plans, by name. */
export const plans: CollectionKind<Plan> = {
  kind: "plan",
  noun: "plan",
  shape: planShape,
  check: ({ id, body }, entities, rulesUse) =>
    mustFitRules(entities, { kind: "plan", id, rulesUse }, toWritten(id, body)),
  checkRemoval: async (id, entities) => {
    const [tenant] = await entities.list("tenant", { parent: id, limit: 1 });
    if (tenant === undefined) return;
    throw new ServerError(
      "SLUICE_CONFLICT",
      `tenant ${show(tenant.id)} is on the plan; move its tenants to another plan first`,
    );
  },
};

function toWritten(id: string, plan: Plan) {
  return planExceptions(id, plan).map((one) => ({ ...one, field: `limits.${one.ruleId}` }));
}

/** The exceptions that a plan makes. */
export function planExceptions(name: string, { limits }: Plan): RuleException[] {
  return Object.entries(limits).map(([ruleId, limit]) => ({
    ruleId,
    by: "plan",
    value: name,
    limits: limit,
  }));
}
