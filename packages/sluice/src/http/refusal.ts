// The response to a request that is refused.

import type { PolicyDecision } from "../rules/policy-decision.js";

/** A whole response, apart from the RateLimit fields. */
export interface Refusal {
  readonly status: number;
  /** Names and values in turn. */
  readonly fields: readonly string[];
  readonly body: string;
}

export function toRefusal(_decision: PolicyDecision): Refusal {
  return { status: 429, fields: ["Cache-Control", "no-store"], body: "" };
}
