// Adds a hint to errors about an unknown rule: the rule that was probably meant.

import { nearestName } from "sluice/rules";
import { safe } from "../text/colours.js";
import { type AdminClient, NotFoundError } from "./admin-client.js";

/** How many rules are listed if none has a similar name. */
const NAMES_MAX = 10;

/**
 * Makes a call about a rule. If the service does not have the rule, the error names the one that was probably
 * meant, or lists the rules that exist.
 */
export async function withRuleHint<T>(
  client: AdminClient,
  rule: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // The service names a rule that is near itself.
    if (!(error instanceof NotFoundError) || error.message.includes("did you mean")) throw error;
    const hint = await ruleHint(client, rule);
    throw hint === undefined ? error : new NotFoundError(`${error.message}; ${hint}`);
  }
}

/** A hint about an unknown rule. Undefined if the service can't list its rules, or if it has this rule and something else is missing. */
export async function ruleHint(client: AdminClient, rule: string): Promise<string | undefined> {
  const answer = await client.get("rules", "/v1/rules").catch(() => undefined);
  const ids = answer?.rules.map(({ id }) => id);
  if (ids === undefined || ids.includes(rule)) return undefined;
  if (ids.length === 0) return "there are no rules";
  const nearest = nearestName(rule, ids);
  if (nearest !== undefined) return `did you mean ${safe(nearest)}?`;
  const more = ids.length > NAMES_MAX ? ` and ${ids.length - NAMES_MAX} more` : "";
  return `the rules are ${ids
    .slice(0, NAMES_MAX)
    .map((id) => safe(id))
    .join(", ")}${more}`;
}
