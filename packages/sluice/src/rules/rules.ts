/**
 * Rules: which requests are counted by which key under which limit, read from a file, decided
 * together and replaced while running.
 *
 * @module
 */

export { nearestName } from "../base/nearest-name.js";
export type {
  ArbitersHome,
  ArbitersPromotion,
  HomeArbiter,
  HomeEpoch,
} from "../stores/regions/fenced/home-arbiter.js";
export type { HomeStats } from "../stores/regions/fenced/home-region.js";
export type { PromoteOptions, Promotion } from "../stores/regions/fenced/promote.js";
export type { MergedOptions, MergedStats } from "../stores/regions/merged/merged-options.js";
export type { PeerStats } from "../stores/regions/merged/peer-region.js";
export { type RegionsOptions, regionName } from "../stores/regions/regions.js";
export {
  type CounterFate,
  diffRules,
  type LimitDiff,
  type RuleDiff,
  type RulesDiff,
} from "./diff.js";
export {
  type ExceptionsOptions,
  type RuleException,
  withExceptions,
  withExceptionsInSlices,
} from "./exceptions.js";
export type { Facts } from "./facts.js";
export { type HomeControl, homeControl } from "./home-control.js";
export { type CidrList, toCidrList } from "./identity-keys/cidr.js";
export { describeKey } from "./identity-keys/key.js";
export { isSecretName } from "./identity-keys/secret-names.js";
export {
  type AddressList,
  type ListFile,
  readAddressList,
  readAddressListInSlices,
} from "./lists/address-list.js";
export { AddressLists, type Listed, type ListsInput } from "./lists/address-lists.js";
export type { Network, NetworkOf } from "./network.js";
export { type JsonSchema, toJsonSchema } from "./parse/json-schema.js";
export { type ParseOptions, parseRules, type RuleProblem, RulesError } from "./parse/parse.js";
export { nearestMethod } from "./parse/rule-fields/names.js";
export { readYaml, type YamlProblem, type YamlText } from "./parse/yaml.js";
export type { DecidedCharge } from "./policy/charges/decided-charge.js";
export type { PolicyStats } from "./policy/compile/policy-stats.js";
export { limitOfTenant } from "./policy/compile/tenant-calendars.js";
export type { CostFunction } from "./policy/cost.js";
export { createPolicy } from "./policy/create-policy.js";
export type { BodyReading, RequestEnd, UnreadableBody } from "./policy/held-charges/request-end.js";
export type { EstimateReason } from "./policy/held-charges/settled-cost.js";
export type { MeterPlace } from "./policy/meter-place.js";
export {
  type BlockedCallers,
  type CallerBlock,
  type CallerBlocks,
  callerBlocks,
} from "./policy/operator/caller-blocks.js";
export type { ActOptions } from "./policy/operator/operator.js";
export type {
  ExplainedBlock,
  ExplainedCondition,
  ExplainedException,
  ExplainedLimit,
  ExplainedRule,
  ExplainOptions,
  Explanation,
} from "./policy/peek/explain.js";
export type { RuleState } from "./policy/peek/peek.js";
export type { Policy } from "./policy/policy.js";
export type {
  CallerEscalated,
  CostSettled,
  EscalateFailed,
  PolicyEvent,
  ResponseCounted,
  RuleSwitched,
  RulesReplaced,
  RuleUseless,
  SettleFailed,
} from "./policy/policy-events.js";
export type { PolicyOptions, RulesInput } from "./policy/policy-options.js";
export type {
  AdmitOptions,
  Identify,
  RequestNeeds,
} from "./policy/policy-request/admit-options.js";
export { CallerRefusal, type CallerRefusalReason } from "./policy/policy-request/caller-refusal.js";
export { refuseBlocked } from "./policy/policy-request/operator-refusals.js";
export type {
  PolicyDecision,
  RefusalReason,
  RuleResult,
} from "./policy/policy-request/policy-decision.js";
export type { PreparedRules } from "./policy/prepared-rules.js";
export type { RuleSwitch, SwitchState, SwitchStates } from "./policy/switches.js";
export { DEFAULT_PRIORITY, RequestPriorities, type StatedPriority } from "./request-priorities.js";
export type {
  Across,
  ClientField,
  ClientMatch,
  Consistency,
  Cost,
  Dimension,
  ExceptionLimits,
  ExceptionSubject,
  Exempt,
  JsonPath,
  JsonSum,
  JsonTerm,
  Match,
  OnExceed,
  ResponseCondition,
  Rule,
  RuleExceptions,
  RuleSet,
  SettleBy,
} from "./rule.js";
export type { FindTenant, TenantProfile } from "./tenant-profile.js";
export { type RulesHolder, type RulesWatch, type WatchOptions, watchRules } from "./watch.js";
