// The options of a policy.

import { type Clock, toClock } from "../../base/clock.js";
import { show } from "../../base/errors.js";
import { anyFunction, readOption, readOptions, refuse } from "../../base/shapes/code-options.js";
import {
  anyName,
  anything,
  choice,
  flag,
  mapOf,
  object,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import { anyStore } from "../../stores/any-store.js";
import type { EventualOptions } from "../../stores/eventual/eventual.js";
import type { LeasedOptions } from "../../stores/leased/lease-options.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { AdmissionMeter } from "../../stores/metered.js";
import type { MergedOptions } from "../../stores/regions/merged/merged-options.js";
import { type Regions, type RegionsOptions, toRegions } from "../../stores/regions/regions.js";
import { POLICIES, TIMEOUT_BOUNDS } from "../../stores/resilient/resilient-options.js";
import type { FailurePolicy, Store } from "../../stores/store.js";
import type { Facts } from "../facts.js";
import { AddressLists } from "../lists/address-lists.js";
import type { NetworkOf } from "../network.js";
import type { RuleSet } from "../rule.js";
import type { CostFunction, CostFunctions } from "./cost.js";
import type { PolicyEvent } from "./policy-events.js";
import type { PolicyDecision } from "./policy-request/policy-decision.js";

/** Rules in any form: parsed, as a string of YAML or JSON, or as an object in code. */
export type RulesInput = RuleSet | string | object;

/** Parses rules. Passed in, since the parser of strings loads a YAML parser that limits in code don't need. */
export type RulesParser = (rules: string | object) => RuleSet;

/** Options of `createPolicy`. */
export interface PolicyOptions {
  /** What `parseRules` made, or what it takes. */
  rules: RulesInput;
  /** Where the counters are. Default: the store of its region, or without regions a memory store of its own. */
  store?: Store;
  /**
   * The regions that share limits, each with its store; required if a rule has another `across` than `each`. The stores
   * are not closed with the policy.
   */
  regions?: RegionsOptions;
  /**
   * Where the quotas of rules with `durable` are: a ledger, which is a store that keeps them over crashes. Required if
   * there are such rules.
   */
  durableStore?: Store;
  /** Counts the units that durable rules admit, beside what their store charges. Default: they are not counted. */
  admissions?: AdmissionMeter;
  /** Addresses that are refused, and addresses that are not limited, whatever the rules say. Default: none. */
  lists?: AddressLists;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /** What answers for rules that don't say it when the store does not; default `"local"`. */
  onStoreFailure?: FailurePolicy;
  /**
   * How long a store behind a network may take for a decision, in whole milliseconds from 1 to 60,000,
   * for rules that don't say it. Default: what the store's guard has, 50.
   */
  timeoutMs?: number;
  /**
   * Says which autonomous system and country an address belongs to, for rules that count or match by `asn` or `country`.
   * Asked at most once for a request, and only if such a rule looks at it. Default: neither is known, unless the facts
   * say it.
   */
  networkOf?: NetworkOf;
  /** Functions that rules name as their cost. */
  costs?: Readonly<Record<string, CostFunction>>;
  /**
   * Whether the policy's request handler sees responses and can make requests wait; default true. If not, a
   * rule with a concurrency limit, `when` or `settle` is an error, and who would have to wait is
   * refused.
   */
  seesResponses?: boolean;
  /** How rules with `consistency: leased` take budget ahead. */
  leased?: Omit<LeasedOptions, "clock">;
  /** How rules with `consistency: eventual` sync what was admitted. */
  eventual?: Omit<EventualOptions, "clock">;
  /** How rules with `across: merged` exchange counts with other regions. */
  merged?: Pick<MergedOptions, "syncMs" | "nodes" | "keysMax">;
  /** Called with every decision of `admit` and the facts that it was made by. What it throws is dropped. */
  onDecision?: (decision: PolicyDecision, facts: Facts) => unknown;
  /** Called with what happens to the policy. What it throws is dropped. */
  onEvent?: (event: PolicyEvent) => unknown;
}

/** Options, validated and filled in. */
export interface PolicySetup {
  readonly rules: RuleSet;
  readonly store: Store;
  readonly ownsStore: boolean;
  readonly regions: Regions | undefined;
  readonly durableStore: Store | undefined;
  readonly admissions: AdmissionMeter | undefined;
  readonly lists: AddressLists | undefined;
  readonly clock: Clock;
  readonly onStoreFailure: FailurePolicy;
  readonly timeoutMs: number | undefined;
  readonly networkOf: NetworkOf | undefined;
  readonly costs: CostFunctions;
  readonly seesResponses: boolean;
  readonly leased: Omit<LeasedOptions, "clock">;
  readonly eventual: Omit<EventualOptions, "clock">;
  readonly merged: Pick<MergedOptions, "syncMs" | "nodes" | "keysMax">;
  readonly onDecision: PolicyOptions["onDecision"];
  readonly onEvent: PolicyOptions["onEvent"];
}

const SITE = { name: "createPolicy", code: "SLUICE_OPTION_INVALID" } as const;
/** More cost functions than there can be rules. */
const COSTS_MAX = 100_000;

const rulesInput: Shape<RulesInput> = {
  what: "what parseRules made or takes",
  schema: {},
  read: (value, spot) => {
    if (typeof value === "string" || (typeof value === "object" && value !== null)) return value;
    return spot.refuse(rulesInput.what, value);
  },
};

const costFunctions: Shape<CostFunctions> = mapOf(anyName, anyFunction, {
  countMin: 0,
  countMax: COSTS_MAX,
  what: "an object of functions",
});

const OPTIONS = object({
  rules: required(rulesInput),
  store: optional(anyStore),
  // Read by `toRegions`.
  regions: optional(anything()),
  durableStore: optional(anyStore),
  admissions: optional(anything()),
  lists: optional(anything()),
  clock: optional(anything()),
  onStoreFailure: withDefault(choice(POLICIES), "local"),
  timeoutMs: optional(wholeNumber(TIMEOUT_BOUNDS)),
  networkOf: optional(anyFunction),
  costs: withDefault(costFunctions, {}),
  seesResponses: withDefault(flag, true),
  // Read by the stores that they are for.
  leased: optional(anything()),
  eventual: optional(anything()),
  merged: optional(anything()),
  onDecision: optional(anyFunction),
  onEvent: optional(anyFunction),
} satisfies Record<keyof PolicyOptions, unknown>);

/** Validates options and fills in defaults. */
export function toPolicySetup(options: PolicyOptions, parse: RulesParser): PolicySetup {
  const given = readOptions(SITE, OPTIONS, options);
  return {
    rules: toRuleSet(given.rules, parse),
    ...toStores(given.store, given.regions as RegionsOptions | undefined),
    durableStore: given.durableStore,
    admissions: given.admissions as AdmissionMeter | undefined,
    lists: toLists(given.lists),
    clock: toClock(SITE, given.clock),
    onStoreFailure: given.onStoreFailure,
    timeoutMs: given.timeoutMs,
    networkOf: given.networkOf,
    costs: given.costs,
    seesResponses: given.seesResponses,
    leased: given.leased ?? {},
    eventual: given.eventual ?? {},
    merged: given.merged ?? {},
    onDecision: given.onDecision,
    onEvent: given.onEvent,
  };
}

function toLists(given: unknown): AddressLists | undefined {
  if (given === undefined || given instanceof AddressLists) return given;
  refuse(SITE, `lists must be an AddressLists, got ${show(given)}`);
}

function toStores(
  given: Store | undefined,
  options: RegionsOptions | undefined,
): Pick<PolicySetup, "store" | "ownsStore" | "regions"> {
  const regions = options === undefined ? undefined : toRegions(options);
  const own = regions?.stores.get(regions.self);
  if (own !== undefined && given !== undefined && given !== own) {
    refuse(SITE, "store is not that of its own region in regions.stores; leave one of them out");
  }
  const store = own ?? given;
  return { store: store ?? memoryStore(), ownsStore: store === undefined, regions };
}

/** Rules, parsed if they are not yet. */
export function toRuleSet(rules: unknown, parse: RulesParser): RuleSet {
  return isRuleSet(rules) ? rules : parse(readOption(SITE, "rules", rulesInput, rules));
}

/**
 * What is written in a file says its schema as a number; what was parsed, its version as a hash. Parsed
 * rules that went through JSON are neither: their sets and maps are gone.
 */
function isRuleSet(rules: unknown): rules is RuleSet {
  if (typeof rules !== "object" || rules === null) return false;
  const { version, exempt, rules: list } = rules as Partial<RuleSet>;
  return typeof version === "string" && exempt?.keys instanceof Set && Array.isArray(list);
}
