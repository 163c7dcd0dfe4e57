// What rules read of the lines of a log beyond method, path, address and user.

import type { EntryNeeds } from "../../access-logs/log-entry.js";
import type { FormatFacts } from "../../access-logs/log-format.js";
import { namedFactsOf } from "../../telemetry/samples/fact-names.js";
import type { JudgedRules } from "./judged-rules.js";

/** The headers that rules match or count by, and whether clients are found behind proxies. */
export function needsOf(
  judged: readonly (JudgedRules | undefined)[],
  trustedProxies: readonly string[] | undefined,
  facts: FormatFacts,
): EntryNeeds {
  const headers = new Set<string>();
  for (const { rules } of judged.flatMap((each) => each?.rules ?? [])) {
    for (const rule of rules) {
      for (const { kind, name } of namedFactsOf(rule)) if (kind === "header") headers.add(name);
      if (rule.cost.kind === "header") headers.add(rule.cost.name);
    }
  }
  return { headers, forwardedFor: trustedProxies !== undefined && facts.forwardedFor };
}
