// What can be said of a caller that was looked up. A look-up has an address, or a user, or a tenant, while requests have
// all of them: a rule that counts by something else would refuse it, and says nothing about the caller.

import type { ExplainedRule, Explanation } from "./words.js";

/** An explanation without the rules that can't be judged, and those rules. */
export interface Judged {
  /** Undefined if no rule that matches counts the caller. */
  readonly explanation: Explanation | undefined;
  /** They match, and count by something that the look-up does not have. */
  readonly leftOut: readonly ExplainedRule[];
}

/** Judges by the rules that count the caller. */
export function judge(explanation: Explanation): Judged {
  const leftOut = explanation.rules.filter(countsByOther);
  if (explanation.reason !== "identity") return { explanation, leftOut };
  const counting = explanation.rules.filter((rule) => rule.isMatch && rule.key !== null);
  if (counting.length === 0) return { explanation: undefined, leftOut };
  const refusing = counting.find(refuses);
  const delays = counting.flatMap(({ limits }) => limits.map(({ delayMs }) => delayMs));
  return {
    explanation: {
      ...explanation,
      allowed: refusing === undefined,
      rule: refusing?.rule ?? null,
      reason: refusing === undefined ? null : refusing.blockedMs !== 0 ? "blocked" : "limit",
      retryAfterMs: refusing === undefined ? null : retryAfterMsOf(refusing),
      delayMs: Math.max(0, ...delays),
    } as Explanation,
    leftOut,
  };
}

/** Whether a rule counts by something that the look-up does not have, and refuses requests without it. */
export function countsByOther({ isMatch, notApplied }: ExplainedRule): boolean {
  return isMatch && notApplied === "refused";
}

/** A request that a rule counts the caller by, if the one that was explained is counted by none. */
export function requestToExplain(
  rules: readonly ExplainedRule[],
  asked: string,
): { readonly method: string | undefined; readonly path: string | undefined } | undefined {
  const counting = rules.filter(({ key }) => key !== null);
  const rule = counting.find((each) => each.rule === asked) ?? counting[0];
  const isCounted = counting.some(({ isMatch, rule: id }) => isMatch && (id === asked || !asked));
  return rule === undefined || isCounted ? undefined : requestOf(rule);
}

/** A request that the rule matches; undefined if it is not about paths and methods. */
export function requestOf({ conditions }: ExplainedRule) {
  const wantedOf = (on: string) =>
    conditions.find((condition) => condition.on === on)?.wanted.split(", ")[0];
  const [method, path] = [wantedOf("method"), wantedOf("path")];
  return method === undefined && path === undefined ? undefined : { method, path };
}

function refuses({ onExceed, blockedMs, limits, notApplied }: ExplainedRule): boolean {
  if (onExceed === "shadow" || notApplied !== null) return false;
  return blockedMs !== 0 || limits.some(({ wouldPass }) => !wouldPass);
}

function retryAfterMsOf({ limits, blockedMs }: ExplainedRule): number | null {
  if (blockedMs !== 0) return blockedMs;
  const waits = limits
    .filter(({ wouldPass }) => !wouldPass)
    .map(({ retryAfterMs }) => retryAfterMs);
  return waits.some((ms) => ms === null) ? null : Math.max(0, ...waits.map(Number));
}
