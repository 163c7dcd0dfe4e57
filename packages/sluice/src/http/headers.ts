// The RateLimit fields of a response.

import type { PolicyDecision } from "../rules/policy-decision.js";

/** Names and values in turn. */
export function toFields(decision: PolicyDecision): readonly string[] {
  if (decision.rule === undefined) return [];
  const seconds = Math.ceil((decision.allowed ? decision.resetMs : decision.retryAfterMs) / 1000);
  return ["RateLimit", `"${decision.rule}";r=${decision.remaining};t=${seconds}`];
}
