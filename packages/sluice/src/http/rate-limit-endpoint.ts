// The answer to `GET /rate_limit`: how the caller stands under every rule that could count it and may be
// told of. Asking costs nothing, and no cache may keep the answer.

import type { RuleState } from "../rules/policy-peek.js";
import { bytesOf, type Reply } from "./refusal.js";

/** States as JSON: `{ "rules": [{ "rule", "keyType", "limit", "remaining", … }] }`; what never comes is null. */
export function toStatusReply(rules: readonly RuleState[]): Reply {
  const body = JSON.stringify({ rules });
  const type = "application/json; charset=utf-8";
  const fields = ["Cache-Control", "no-store", "Content-Type", type];
  return { status: 200, fields: [...fields, "Content-Length", `${bytesOf(body)}`], body };
}
