// Which rules say their `consistency`: parsed rules don't distinguish it from the default. Reading it takes as long as
// reading the rules, so that of long ones is found in the thread that reads them.

import { parse } from "yaml";

interface WrittenRule {
  readonly id: string;
  readonly consistency?: unknown;
}

/** The ids of the rules with a `consistency`, of rules as a string or an object. They must be valid. */
export function idsWithConsistency(written: string | object): readonly string[] {
  if (typeof written === "string" && !written.includes("consistency")) return [];
  const source = typeof written === "string" ? parse(written, { merge: true }) : written;
  const { rules } = source as { rules: readonly WrittenRule[] };
  return rules.filter(({ consistency }) => consistency !== undefined).map(({ id }) => id);
}
