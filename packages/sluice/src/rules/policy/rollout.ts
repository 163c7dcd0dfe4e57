// Rollout: a rule that is about a share of its keys, always the same ones. With a growing share keys
// only join; none leaves.

import { spreadHash } from "../../base/spread-hash.js";
import type { Rule } from "../rule.js";

const STEPS = 10_000;

/** Whether the rule is about this key. Other rules choose other keys. */
export function isInRollout(rule: Pick<Rule, "id" | "rolloutPercent">, key: string): boolean {
  const step = spreadHash(key, spreadHash(rule.id)) % STEPS;
  return step < (rule.rolloutPercent / 100) * STEPS;
}
