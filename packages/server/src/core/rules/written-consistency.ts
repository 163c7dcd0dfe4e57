// Finds the rules that state their `consistency`: parsed rules don't distinguish it from the default. Finding
// it takes as long as reading the rules, so for long rules the thread that reads them does it.

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
