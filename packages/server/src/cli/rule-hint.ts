// The rule that was probably meant, for questions about one that the service does not know.

import { nearestName } from "sluice/rules";
import { type AdminClient, NotThereError } from "./admin-client.js";
import { safe } from "./text/ink.js";

/** How many rules are named where none is near. */
const NAMES_MAX = 10;

/**
 * Asks about a rule. If the service does not know it, the error names the one that was probably meant, or
 * those that there are.
 */
export async function askOfRule<T>(
  client: AdminClient,
  rule: string,
  question: () => Promise<T>,
): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof NotThereError)) throw error;
    const hint = await hintFor(client, rule);
    throw hint === undefined ? error : new NotThereError(`${error.message}; ${hint}`);
  }
}

/** Undefined if the service does not list its rules, or if it has this one and something else is missing. */
async function hintFor(client: AdminClient, rule: string): Promise<string | undefined> {
  const answer = await client.get("rules", "/v1/rules").catch(() => undefined);
  const ids = answer?.rules.map(({ id }) => id);
  if (ids === undefined || ids.includes(rule)) return undefined;
  if (ids.length === 0) return "there are no rules";
  const nearest = nearestName(rule, ids);
  if (nearest !== undefined) return `did you mean ${safe(nearest)}?`;
  const more = ids.length > NAMES_MAX ? ` and ${ids.length - NAMES_MAX} more` : "";
  return `there are ${ids
    .slice(0, NAMES_MAX)
    .map((id) => safe(id))
    .join(", ")}${more}`;
}
