// The simple case: one limit in code, `rateLimit({ limit: tokenBucket(…) })`. It becomes a policy of
// one rule, so that everything behind it knows one way only. What functions in code find out about a
// request, its key and its cost, travels as attributes of its facts.

import { claimName } from "../claimed-names.js";
import type { Clock } from "../clock.js";
import { SluiceError, show } from "../errors.js";
import type { Limit } from "../limits.js";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import { functionOf, namesOf, type OptionSite, refuse } from "../options.js";
import type { Facts } from "../rules/facts.js";
import { parseRules } from "../rules/parse.js";
import { createPolicy, type Policy } from "../rules/policy.js";
import type { PolicyOptions } from "../rules/policy-options.js";
import type { Consistency } from "../rules/rule.js";
import type { FailurePolicy, Store } from "../stores/store.js";
import type { Attributes } from "./attributed-facts.js";

/** One rule from code. Fields that rule files have too mean and default to the same. */
export interface SimpleOptions<Raw = unknown> {
  /** One limit or several that all hold. */
  limit: Limit | readonly Limit[];
  /**
   * What is counted by: dimensions as in rule files (`"ip"`, `["tenant", "user"]`, `"header:x-id"`;
   * default `"ip"`), or a function whose answer is the key. Undefined: the request is not counted.
   */
  key?: string | readonly string[] | ((request: Raw) => MaybePromise<string | undefined>);
  /**
   * The rule's id in fields, counters and metrics; default `"default"`. Limits with different numbers
   * over one store need different names.
   */
  name?: string;
  /** Where the counters are. Default: in memory. */
  store?: Store;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /** Whole units from 0; default 1. */
  cost?: number | ((request: Raw) => MaybePromise<number>);
  /** Requests that are not counted at all. */
  skip?: (request: Raw) => MaybePromise<boolean>;
  /**
   * Of a request that lacks a dimension of its key; default `"ip"`: counted by address instead. Goes
   * with dimensions only: a key function says it by what it answers.
   */
  onMissing?: "skip" | "refuse" | "ip";
  /** Which responses count: `{ status: [401, "4xx"] }` or `{ statusNot: [304] }`. Default: all. */
  when?: { readonly status: StatusList } | { readonly statusNot: StatusList };
  /** Where the real cost comes from: `"code"`, `"bytes"` or `{ header: "x-cost" }`. */
  settle?: "code" | "bytes" | { readonly header: string };
  /** Default `"reject"`. */
  onExceed?: "reject" | "delay" | "shadow";
  /** The longest wait under `onExceed: "delay"`, in milliseconds. */
  delayMsMax?: number;
  /** Where it is decided, over a shared store. */
  consistency?: Consistency;
  /** What answers when the store does not; default `"local"`. */
  onStoreFailure?: FailurePolicy;
  /** How long the store may take, in milliseconds; default 50. */
  timeoutMs?: number;
}

/** A class of statuses: `"4xx"` is all from 400 to 499. */
export type StatusClass = "1xx" | "2xx" | "3xx" | "4xx" | "5xx";

/** Statuses, alone or in a list. */
export type StatusList = number | StatusClass | readonly (number | StatusClass)[];

/** Fields of a rule that are passed on as they came. */
type PassedOn = Pick<
  SimpleOptions,
  "onMissing" | "when" | "settle" | "onExceed" | "delayMsMax" | "consistency" | "timeoutMs"
>;

const PASSED_ON = namesOf<PassedOn>({
  onMissing: true,
  when: true,
  settle: true,
  onExceed: true,
  delayMsMax: true,
  consistency: true,
  timeoutMs: true,
});

/** The names of {@link SimpleOptions}. */
export const SIMPLE_OPTIONS: readonly (keyof SimpleOptions)[] = [
  ...namesOf<Omit<SimpleOptions, keyof PassedOn>>({
    limit: true,
    key: true,
    name: true,
    store: true,
    clock: true,
    cost: true,
    skip: true,
    onStoreFailure: true,
  }),
  ...PASSED_ON,
];

/** Asks the functions in code. Undefined: the request is not counted. */
export type Prepare = (request: unknown) => MaybePromise<Attributes | undefined>;

/** A policy of one rule, and the functions that have to be asked before it. */
export interface SimplePolicy {
  readonly policy: Policy;
  readonly prepare: Prepare | undefined;
  /** Whether a function in code says by what requests are counted. */
  readonly isKeyed: boolean;
  /** Gives up its name over a store that others may use. */
  readonly release: () => void;
}

const COST = "cost";
// Not "key": an attribute of that name would be taken for a secret and hashed. `explain` and
// GET /rate_limit show it, as `attribute:caller`.
const KEY = "caller";

/**
 * Makes the policy of the simple case.
 *
 * @param onError - Told of settling that failed. What it throws or rejects with is dropped.
 */
export function toSimplePolicy<Raw>(
  site: OptionSite,
  options: SimpleOptions<Raw>,
  onError?: (error: unknown) => unknown,
): SimplePolicy {
  const { limit, key = "ip", name = "default", cost = 1, store, clock, onStoreFailure } = options;
  if (limit === undefined) refuse(site, "needs a limit such as tokenBucket(…), or a policy");
  if (typeof key === "function" && options.onMissing !== undefined) {
    refuse(
      site,
      "onMissing goes with dimensions; a key function that answers undefined leaves a request uncounted",
    );
  }
  const rule: Record<string, unknown> = { id: name, limit };
  for (const field of PASSED_ON) if (options[field] !== undefined) rule[field] = options[field];
  const isKeyFound = typeof key === "function";
  rule.key = isKeyFound ? `attribute:${KEY}` : key;
  if (isKeyFound) rule.onMissing = "skip";
  rule.cost = typeof cost === "function" ? { function: COST } : cost;
  const setup: PolicyOptions = { rules: parseRules({ version: 1, rules: [rule] }) };
  if (store !== undefined) setup.store = store;
  if (clock !== undefined) setup.clock = clock;
  if (onStoreFailure !== undefined) setup.onStoreFailure = onStoreFailure;
  if (typeof cost === "function") setup.costs = { [COST]: costOf };
  if (onError !== undefined) {
    setup.onEvent = (event) => (event.kind === "settle-failed" ? onError(event.error) : undefined);
  }
  const prepare = toPrepare(site, options);
  const policy = createPolicy(setup);
  const limits = [limit].flat();
  const release = store === undefined ? ignore : claimName(site, store, { name, limits });
  return { policy, prepare, isKeyed: isKeyFound, release };
}

/** The key that a `key` function returned for a request; undefined if there is no such function. */
export function keyOf(attributes: Attributes | undefined): string | undefined {
  return attributes?.[KEY] as string | undefined;
}

function ignore(): void {}

function costOf({ attributes }: Facts): number {
  return attributes?.[COST] as number;
}

function toPrepare<Raw>(site: OptionSite, options: SimpleOptions<Raw>): Prepare | undefined {
  const { key, cost } = options;
  const skip = functionOf(site, "skip", options.skip);
  const keyOf = typeof key === "function" ? key : undefined;
  const costOfRequest = typeof cost === "function" ? cost : undefined;
  if (skip === undefined && keyOf === undefined && costOfRequest === undefined) return undefined;
  const found = (request: Raw, foundKey: string | undefined) => {
    if (keyOf !== undefined && foundKey === undefined) return undefined;
    if (keyOf !== undefined) checkKey(foundKey);
    if (costOfRequest === undefined) return { [KEY]: foundKey };
    return andThen(costOfRequest(request), (units) => ({ [KEY]: foundKey, [COST]: units }));
  };
  const counted = (request: Raw) =>
    keyOf === undefined
      ? found(request, undefined)
      : andThen(keyOf(request), (foundKey) => found(request, foundKey));
  return ((request: Raw) => {
    if (skip === undefined) return counted(request);
    return andThen(skip(request), (isSkipped) => (isSkipped ? undefined : counted(request)));
  }) as Prepare;
}

/** An empty key would be one that nobody meant, shared by all who have it. */
function checkKey(key: unknown): void {
  if (typeof key === "string" && key !== "") return;
  throw new SluiceError("SLUICE_KEY_INVALID", `the key function answered ${show(key)}`);
}
