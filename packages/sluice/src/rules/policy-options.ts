// The options of a policy.

import { type Clock, toClock } from "../clock.js";
import { asOptions, oneOf, orDefault } from "../options.js";
import { memoryStore } from "../stores/memory/store.js";
import { POLICIES } from "../stores/resilience/options.js";
import type { FailurePolicy, Store } from "../stores/store.js";
import type { CostFunction, CostFunctions } from "./cost.js";
import type { RuleSet } from "./rule.js";

/** Options of `createPolicy`. */
export interface PolicyOptions {
  /** Made by `parseRules`. */
  rules: RuleSet;
  /** Where the counters are. Default: a memory store of its own. */
  store?: Store;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /** What answers for rules that don't say it when the store does not; default `"local"`. */
  onStoreFailure?: FailurePolicy;
  /** Functions that rules name as their cost. */
  costs?: Readonly<Record<string, CostFunction>>;
}

/** Options, validated and filled in. */
export interface PolicySetup {
  readonly rules: RuleSet;
  readonly store: Store;
  readonly ownsStore: boolean;
  readonly clock: Clock;
  readonly onStoreFailure: FailurePolicy;
  readonly costs: CostFunctions;
}

const SITE = { name: "createPolicy", code: "SLUICE_OPTION_INVALID" } as const;

/** Validates options and fills in defaults. */
export function toPolicySetup(options: PolicyOptions): PolicySetup {
  const given = asOptions(SITE, options, ["rules", "store", "clock", "onStoreFailure", "costs"]);
  const onStoreFailure = orDefault(given.onStoreFailure, "local");
  return {
    rules: options.rules,
    store: options.store ?? memoryStore(),
    ownsStore: given.store === undefined,
    clock: toClock(SITE, given.clock),
    onStoreFailure: oneOf(SITE, "onStoreFailure", onStoreFailure, POLICIES),
    costs: new Map(Object.entries(options.costs ?? {})),
  };
}
