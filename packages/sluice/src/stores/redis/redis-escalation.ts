// How refusals of keys are reported to escalate.lua, and how its answer is read.

import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type { KeyNames } from "./keys.js";
import type { CallTime } from "./script-calls/call-writer.js";

/** Numbers of the reply for each report. */
const REPLY_NUMBERS = 3;

/** Reports as the keys and arguments of the script. */
export function writeReports(
  reports: readonly RefusalReport[],
  names: KeyNames,
  { nowMs, slackMs }: CallTime,
): { readonly keys: readonly string[]; readonly args: readonly string[] } {
  const keys = reports.flatMap(({ scope, key, blockScopes }) => {
    const tag = names.tag(key);
    const values = blockScopes.map((each) => names.value(tag, each));
    return [names.escalation(tag, scope), ...values];
  });
  const numbers = reports.map(({ blockScopes, refusals, ageMs, terms }) => [
    blockScopes.length,
    refusals,
    ageMs,
    terms.refusals,
    terms.windowMs,
    terms.forgetMs,
    ...terms.blocksMs,
  ]);
  const time = nowMs === undefined ? "" : String(nowMs);
  return { keys, args: [time, String(slackMs), JSON.stringify(numbers)] };
}

/** What the script answered. */
export function readEscalated(reply: unknown): readonly Escalated[] {
  const numbers = (reply as readonly (number | string)[]).map(Number);
  return Array.from({ length: numbers.length / REPLY_NUMBERS }, (_, i) => {
    const [level, blockMs, refusalsLeft] = numbers.slice(REPLY_NUMBERS * i);
    return { level, blockMs, refusalsLeft };
  });
}
