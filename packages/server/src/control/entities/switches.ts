// Switches: what operators have set a rule, or all rules, to, regardless of what the rules say.

import { choice, object, type ReadAs, required, stringFor } from "sluice/shapes";
import type { CollectionKind } from "./collection.js";
import { reason } from "./entity-shapes.js";
import { mustHaveRule, publishedRules } from "./rule-references.js";

/** A kill switch. */
export const switchShape = object({
  state: required(
    choice(["off", "deny"]),
    "`off` lets requests pass the rule uncounted, `deny` refuses those that match it.",
  ),
  reason,
});

/** A switch. */
export type Switch = ReadAs<typeof switchShape>;

/** The id of the switch for all rules. */
export const ALL_RULES = "*";

/** Switches, by the rule that they are for. */
export const switches: CollectionKind<Switch> = {
  kind: "switch",
  noun: "switch",
  shape: switchShape,
  id: stringFor({
    what: "the id of a rule, or * for all rules",
    lengthMax: 256,
    toValue: (id) => (id === ALL_RULES || /^[\w.-]+$/.test(id) ? id : undefined),
  }),
  check: async ({ id }, entities) => {
    if (id !== ALL_RULES) mustHaveRule(await publishedRules(entities), id);
  },
};
