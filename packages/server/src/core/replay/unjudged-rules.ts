// The rules of a draft that samples can't judge, or only in part, and why. A preview shows them.

import type { Rule, RuleSet } from "sluice/rules";
import { type NamedFact, namedFactsOf } from "../../telemetry/samples/fact-names.js";

/** A rule, and what its preview does not show. */
export interface UnjudgedRule {
  readonly rule: string;
  /** In words. */
  readonly why: string;
}

/** Rules that are listed. */
const LISTED_MAX = 50;

/**
 * The rules of the draft, changed or not, that samples cover only in part.
 *
 * @param spanMs - The time that the samples cover.
 */
export function unjudgedRules(draft: RuleSet, inForce: RuleSet, spanMs: number): UnjudgedRule[] {
  const known = namesIn(inForce.rules);
  const listed: UnjudgedRule[] = [];
  for (const rule of draft.rules) {
    if (listed.length >= LISTED_MAX) break;
    const why = whyUnjudged(rule, known, spanMs);
    if (why !== undefined) listed.push({ rule: rule.id, why });
  }
  return listed;
}

function whyUnjudged(rule: Rule, known: ReadonlySet<string>, spanMs: number): string | undefined {
  const unknown = [...namesIn([rule])].find((name) => !known.has(name));
  if (unknown !== undefined)
    return `samples have no ${unknown}, since no rule in force reads it: publish the rule with onExceed: shadow first`;
  if (rule.limits.some(({ algorithm }) => algorithm === "concurrency"))
    return "samples don't say how long requests took, so concurrency is not judged";
  if (rule.when !== undefined || rule.settle !== undefined)
    return "samples don't say how requests were answered, so each counts as it was estimated";
  if (rule.limits.some((limit) => spanOf(limit) > spanMs))
    return "it counts over a longer time than the samples cover, and starts with nothing used";
  return undefined;
}

/** The time that a limit counts over; Infinity for quotas, whose periods begin by the calendar. */
export function spanOf(limit: Rule["limits"][number]): number {
  if (limit.algorithm === "quota") return Number.POSITIVE_INFINITY;
  return "windowMs" in limit ? limit.windowMs : 0;
}

/** The headers, cookies, fields and attributes that rules read, as `header x-id`. */
function namesIn(rules: readonly Rule[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const rule of rules) {
    const { cost } = rule;
    for (const fact of namedFactsOf(rule)) names.add(nameOf(fact));
    if (cost.kind === "header") names.add(`header ${cost.name}`);
    if (cost.kind === "json")
      for (const term of cost.sum) for (const [name] of term) names.add(`body field ${name}`);
  }
  return names;
}

function nameOf({ kind, name }: NamedFact): string {
  return kind === "body" ? `body field ${name}` : `${kind} ${name}`;
}
