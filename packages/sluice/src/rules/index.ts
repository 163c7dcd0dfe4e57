/**
 * Rules: which requests are counted by which key under which limit, read from a file, decided
 * together and replaced while running.
 *
 * @module
 */

export type { Facts } from "./facts.js";
export { type ParseOptions, parseRules } from "./parse.js";
export { type AdmitOptions, createPolicy, type Policy } from "./policy.js";
export type {
  PolicyDecision,
  RefusalReason,
  RequestEnd,
  RuleResult,
} from "./policy-decision.js";
export type { PolicyOptions } from "./policy-options.js";
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
