/**
 * Rules: which requests are counted by which key under which limit, read from a file, decided
 * together and replaced while running.
 *
 * @module
 */

export { nearestName } from "../nearest-name.js";
export { type CidrList, toCidrList } from "./cidr.js";
export type { CostFunction } from "./cost.js";
export {
  type CounterFate,
  diffRules,
  type LimitDiff,
  type RuleDiff,
  type RulesDiff,
} from "./diff.js";
export type {
  ExplainedCondition,
  ExplainedLimit,
  ExplainedRule,
  ExplainOptions,
  Explanation,
} from "./explain.js";
export type { Facts } from "./facts.js";
export { describeKey } from "./key.js";
export type { PolicyStats } from "./lanes.js";
export { nearestMethod } from "./parse/names.js";
export { readYaml, type YamlProblem, type YamlText } from "./parse/yaml.js";
export { type ParseOptions, parseRules, type RuleProblem, RulesError } from "./parse.js";
export { type AdmitOptions, createPolicy, type Policy } from "./policy.js";
export type {
  DecidedCharge,
  MeterPlace,
  PolicyDecision,
  RefusalReason,
  RequestEnd,
  RuleResult,
} from "./policy-decision.js";
export type {
  PolicyEvent,
  RuleSwitched,
  RulesReplaced,
  RuleUseless,
  SettleFailed,
} from "./policy-events.js";
export type { PolicyOptions, RulesInput } from "./policy-options.js";
export type { RuleState } from "./policy-peek.js";
export type { Identify, Needs } from "./policy-request.js";
export type {
  Consistency,
  Cost,
  Dimension,
  Exempt,
  Match,
  Rule,
  RuleSet,
  SettleBy,
  When,
} from "./rule.js";
export { type JsonSchema, toJsonSchema } from "./schema.js";
export { type RulesHolder, type RulesWatch, type WatchOptions, watchRules } from "./watch.js";
