// Keys that a file writes out, in overrides and exemptions, in the form in which they are counted.

import type { RuleSet } from "../rule.js";
import type { Spot } from "./spot.js";

/** The rules with all keys in the form in which they are counted. */
export function withKeys(rules: Omit<RuleSet, "version">, _spot: Spot): Omit<RuleSet, "version"> {
  return rules;
}
