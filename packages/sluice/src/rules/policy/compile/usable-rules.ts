// Rules that are valid but that this policy can't enforce: those with a cost function that was not given, those that
// need a response where none is seen, durable ones without a ledger, and those that its regions can't share.

import { mapInSteps, type Steps } from "../../../base/steps.js";
import { PROBLEMS_MAX, type RuleProblem, RulesError } from "../../parse/problems.js";
import { allLimitsOf, type Rule } from "../../rule.js";
import type { CostFunctions } from "../cost.js";
import type { Lanes } from "./lanes.js";
import { whyNotInRegions } from "./rule-in-region.js";

/** What a policy has, by which it can keep rules or not. */
interface UsableOptions {
  readonly costs: CostFunctions;
  readonly seesResponses: boolean;
  readonly lanes: Pick<Lanes, "hasDurable" | "regions">;
}

/** Refuses rules that this policy can't keep. */
export function* mustBeUsable(rules: readonly Rule[], options: UsableOptions): Steps<void> {
  const problems = (yield* mapInSteps(rules, (rule) => toProblems(rule, options))).flat();
  if (problems.length === 0) return;
  const more = Math.max(0, problems.length - PROBLEMS_MAX);
  throw new RulesError(problems.slice(0, PROBLEMS_MAX), { more });
}

function toProblems(rule: Rule, { costs, seesResponses, lanes }: UsableOptions): RuleProblem[] {
  const { id, place, cost } = rule;
  const problems: string[] = [];
  if (cost.kind === "function" && !costs.has(cost.name)) {
    const known = costs.size === 0 ? "none" : [...costs.keys()].join(", ");
    problems.push(`cost.function ${JSON.stringify(cost.name)} is not in costs; known: ${known}`);
  }
  const what = seesResponses ? undefined : needsResponse(rule);
  if (what !== undefined) problems.push(`${what} ${NEEDS_RESPONSES}`);
  if (rule.durable !== undefined && !lanes.hasDurable) problems.push(`durable ${NEEDS_LEDGER}`);
  const notShared = whyNotInRegions(rule, lanes.regions);
  if (notShared !== undefined) problems.push(notShared);
  const where = place === undefined ? "" : ` (${place})`;
  return problems.map((why) => ({
    message: `rule ${JSON.stringify(id)}: ${why}${where}`,
    rule: id,
  }));
}

const NEEDS_LEDGER =
  "needs a database to keep its quotas in: set ledger.database or control.database in the configuration (in code: " +
  "durableStore of createPolicy)";

/** Says where the cause is: as a rule of a service this is the section of another listener. */
const NEEDS_RESPONSES =
  "needs to see responses, which the decision API and forward-auth don't: remove it from the rule, or the section " +
  '"decision" from the configuration (in code: seesResponses: false)';

function needsResponse(rule: Rule): string | undefined {
  if (rule.when !== undefined) return "when";
  if (rule.settle !== undefined) return "settle";
  const hasPermits = allLimitsOf(rule).some(({ algorithm }) => algorithm === "concurrency");
  return hasPermits ? "a concurrency limit" : undefined;
}
