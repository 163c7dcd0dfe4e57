// Finds the published rules in a state. They are put in force by enforced-state.ts.

import type { WrittenRules } from "../core/rules-in-force.js";
import type { ControlState } from "./state.js";

const NO_RULES: WrittenRules = { inline: { version: 1, rules: [] } };

/** The published rules as they were written; no rules if none are published. */
export function publishedRules(state: ControlState): WrittenRules {
  for (const { id, body } of state.all("rule-set")) {
    if (body.status !== "published") continue;
    // As errors name it, where a file would be named.
    return { file: `rule set ${Number(id)}`, text: String(body.text) };
  }
  return NO_RULES;
}
