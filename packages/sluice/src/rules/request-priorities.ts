// How important a request is when load is shed, by the rules that it falls under: the first of them, in the order of
// rules, that has `requestPriority`. Whether the rule counts the request makes no difference.

import { isPriority, type Priority } from "../adaptive/priority.js";
import type { Facts } from "./facts.js";
import { Matcher } from "./match/matcher.js";
import { NormalizedRequest } from "./match/normalized-request.js";
import type { RequestPriority, Rule, RuleSet } from "./rule.js";

/** The priority of requests under no rule that states one. */
export const DEFAULT_PRIORITY: Priority = "normal";

interface PrioritisedRule {
  readonly match: Rule["match"];
  readonly rule: Rule;
  readonly requestPriority: RequestPriority;
}

/** A priority, and the rule that states it. */
export interface StatedPriority {
  readonly priority: Priority;
  /** Undefined if no rule does. */
  readonly rule: string | undefined;
}

/** Finds the priority of requests under one set of rules. */
export class RequestPriorities {
  readonly #matcher: Matcher<PrioritisedRule>;
  readonly #ipv6Prefix: number;

  constructor({ rules, isEnabled, ipv6Prefix }: RuleSet) {
    const stated = (isEnabled ? rules : []).toSorted((a, b) => b.priority - a.priority);
    this.#matcher = new Matcher(stated.flatMap(toPrioritised));
    this.#ipv6Prefix = ipv6Prefix;
  }

  /**
   * The priority of a request.
   *
   * @param toFacts - Called only if a rule states priorities.
   * @param isPeerTrusted - Whether the peer may state a priority in a header.
   */
  of(toFacts: () => Facts, isPeerTrusted: boolean): StatedPriority {
    if (this.#matcher.isEmpty) return NO_PRIORITY;
    const facts = toFacts();
    const [first] = this.#matcher.match(new NormalizedRequest(facts, this.#ipv6Prefix));
    if (first === undefined) return NO_PRIORITY;
    return {
      priority: toPriority(first.requestPriority, facts, isPeerTrusted),
      rule: first.rule.id,
    };
  }
}

/** The priority that a rule states for a request of a trusted proxy; undefined if none does. */
export function statedPriorityOf(ruleSet: RuleSet, facts: Facts): StatedPriority | undefined {
  const stated = new RequestPriorities(ruleSet).of(() => facts, true);
  return stated.rule === undefined ? undefined : stated;
}

const NO_PRIORITY: StatedPriority = { priority: DEFAULT_PRIORITY, rule: undefined };

function toPrioritised(rule: Rule): PrioritisedRule[] {
  const { match, isEnabled, requestPriority } = rule;
  return !isEnabled || requestPriority === undefined ? [] : [{ match, rule, requestPriority }];
}

function toPriority(stated: RequestPriority, facts: Facts, isPeerTrusted: boolean): Priority {
  switch (stated.kind) {
    case "constant":
      return stated.priority;
    case "plan":
      return stated.byPlan.get(facts.plan ?? "") ?? stated.otherwise;
    case "header": {
      const said = isPeerTrusted ? facts.headers?.[stated.name] : undefined;
      return isPriority(said) ? said : stated.otherwise;
    }
  }
}
