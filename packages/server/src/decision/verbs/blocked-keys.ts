// Callers that operators block, in the keys of limits that requests bring along. A key that is written as a rule would
// write it, `user:42` or `tenant:acme|ip:203.0.113.10`, names the caller; any other is only a string to count by.

import { type Facts, type Policy, type PolicyDecision, refuseBlocked } from "sluice/rules";

type Named = "ip" | "user" | "tenant" | "apiKey";

const NAMED: readonly string[] = ["ip", "user", "tenant", "apiKey"] satisfies Named[];

/** The refusal of a key that names a blocked caller; undefined if it names none. */
export function refuseBlockedKey(policy: Policy, key: string): PolicyDecision | undefined {
  // A value may have the separator in it.
  for (const part of new Set([key, ...key.split("|")])) {
    const facts = toFacts(part);
    const refused = facts && refuseBlocked(policy, facts);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function toFacts(part: string): Facts | undefined {
  const colon = part.indexOf(":");
  const kind = part.slice(0, colon).trim();
  if (!NAMED.includes(kind)) return undefined;
  const value = part.slice(colon + 1);
  // Rules write IPv6 clients as networks: `ip:2001:db8::/64`.
  const named = kind === "ip" ? value.trim().replace(/\/\d{1,3}$/, "") : value;
  return { method: "GET", path: "/", [kind]: named };
}
