// Limits in code: `rateLimit({ limit: tokenBucket(…) })`, or several with names. Each becomes a rule of a policy, so
// that nothing behind it has to know the difference. The key and the cost that functions in code return for a
// request travel as attributes of its facts.

import type { Clock } from "../../base/clock.js";
import { SluiceError, show } from "../../base/errors.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { anyFunction, type OptionSite, passedOn, refuse } from "../../base/shapes/code-options.js";
import { anything, choice, type Field, optional } from "../../base/shapes/shapes.js";
import { claimName } from "../../limiter/claimed-names.js";
import type { Limit } from "../../limits/limits.js";
import { type LimitOrRate, toLimit } from "../../limits/rate.js";
import type { Facts } from "../../rules/facts.js";
import { readRulesObject } from "../../rules/parse/rule-set.js";
import { Policy } from "../../rules/policy/policy.js";
import type { PolicyOptions } from "../../rules/policy/policy-options.js";
import type { Consistency, OnExceed, RuleSet } from "../../rules/rule.js";
import { anyStore } from "../../stores/any-store.js";
import { POLICIES } from "../../stores/resilient/resilient-options.js";
import type { FailurePolicy, Store } from "../../stores/store.js";
import type { Attributes } from "../identity/attributed-facts.js";

/** One rule from code. Fields that rule files have too mean and default to the same. */
export interface SimpleOptions<Raw = unknown> {
  /** One limit or several that all hold. A limit may be a rate such as `"100/minute"`. */
  limit: LimitOrRate | readonly LimitOrRate[];
  /**
   * What is counted by: dimensions as in rule files (`"ip"`, `["tenant", "user"]`, `"header:x-id"`;
   * default `"ip"`), or a function whose answer is the key. Undefined: the request is not counted.
   */
  key?: string | readonly string[] | ((request: Raw) => MaybePromise<string | undefined>);
  /**
   * The rule's id in headers, counters and metrics; default `"default"`. Limits with different numbers
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
   * What happens to a request without a dimension of the key; default `"ip"`: counted by address instead. Goes
   * with dimensions only: a key function decides this by its return value.
   */
  onMissing?: "skip" | "refuse" | "ip";
  /** Which responses count: `{ status: [401, "4xx"] }` or `{ statusNot: [304] }`. Default: all. */
  when?: { readonly status: StatusList } | { readonly statusNot: StatusList };
  /** Where the real cost comes from: `"code"`, `"bytes"`, `{ header: "x-cost" }` or `{ json: "usage.total_tokens" }`. */
  settle?: "code" | "bytes" | { readonly header: string } | SettleByJson;
  /** Default `"reject"`. */
  onExceed?: OnExceed;
  /** How many units a solved challenge refunds under `onExceed: "challenge"`; default all that the key used. */
  passUnits?: number;
  /** The longest wait under `onExceed: "delay"`, in milliseconds. */
  delayMsMax?: number;
  /** Where it is decided, over a shared store. */
  consistency?: Consistency;
  /** What happens when the store does not answer; default `"local"`. */
  onStoreFailure?: FailurePolicy;
  /** How long the store may take, in milliseconds; default 50. */
  timeoutMs?: number;
}

/** The real cost is in the body of the response: JSON, server-sent events whose data is JSON, or lines of JSON. */
export interface SettleByJson {
  /** A path such as `"usage.total_tokens"`, alternatives as `"a | b"`, or a list that is added up. */
  readonly json: string | readonly string[];
  /** What a response that was cut short costs: what was reserved (default), or what was seen until then. */
  readonly onAbort?: "estimated" | "seen";
}

/** A class of statuses: `"4xx"` is all from 400 to 499. */
export type StatusClass = "1xx" | "2xx" | "3xx" | "4xx" | "5xx";

/** Statuses, alone or in a list. */
export type StatusList = number | StatusClass | readonly (number | StatusClass)[];

/** Fields of a rule that are copied unchanged. */
const PASSED_ON = [
  "onMissing",
  "when",
  "settle",
  "onExceed",
  "delayMsMax",
  "passUnits",
  "consistency",
  "timeoutMs",
] as const satisfies readonly (keyof SimpleOptions)[];

/** What rule files have too may be anything here: it is read with the rule. */
export const SIMPLE_FIELDS = {
  ...passedOn(["limit", "key", "name"]),
  store: optional(anyStore),
  clock: optional(anything()),
  cost: optional(anything()),
  skip: optional(anyFunction),
  onStoreFailure: optional(choice(POLICIES)),
  ...passedOn(PASSED_ON),
} satisfies Record<keyof SimpleOptions, Field<unknown>>;

/** The names of {@link SimpleOptions}. */
export const SIMPLE_OPTIONS: readonly (keyof SimpleOptions)[] = Object.keys(
  SIMPLE_FIELDS,
) as (keyof SimpleOptions)[];

/**
 * Asks the functions in code. Undefined: the request is not counted.
 *
 * @param context - What a framework has besides the request: `HttpRequest.context`.
 */
export type Prepare = (request: unknown, context: unknown) => MaybePromise<Attributes | undefined>;

/** A policy of one rule, and the functions that have to be asked before it. */
export interface SimplePolicy {
  readonly policy: Policy;
  readonly prepare: Prepare | undefined;
  /** Whether a function in code says by what requests are counted. */
  readonly isKeyed: boolean;
  /** Releases its name over a store that others may use. */
  readonly release: () => void;
}

const COST = "cost";
// Not "key": an attribute of that name would be taken for a secret and hashed. `explain` and
// GET /rate_limit show it, as `attribute:caller`.
const KEY = "caller";

/** What limits of one policy have in common. */
export interface SharedOptions<Raw = unknown>
  extends Pick<SimpleOptions<Raw>, "store" | "clock" | "onStoreFailure" | "skip"> {
  /** Further attributes of a request, by which limits may count. */
  attributes?: (request: Raw, context: unknown) => MaybePromise<Attributes>;
}

/** A limit among several; its name is the id of its rule. */
export type NamedLimit<Raw = unknown> = SimpleOptions<Raw> & { readonly name: string };

/**
 * Makes the policy of the simple case.
 *
 * @param onError - Gets the error of settling that failed. Exceptions and rejections are ignored.
 */
export function toSimplePolicy<Raw>(
  site: OptionSite,
  options: SimpleOptions<Raw>,
  onError?: (error: unknown) => unknown,
): SimplePolicy {
  const { name = "default" } = options;
  const named = { ...options, name };
  const part = toPart<Raw>(site, named, { key: KEY, cost: COST });
  return toPolicy(site, [part], options, onError);
}

/** Makes a policy of several limits, which are decided together: a refused request costs none of them. */
export function toNamedPolicy<Raw>(
  site: OptionSite,
  limits: readonly NamedLimit<Raw>[],
  shared: SharedOptions<Raw>,
  onError?: (error: unknown) => unknown,
): SimplePolicy {
  // Each limit has attributes of its own, by its name: the same whichever limits stand beside it.
  const parts = limits.map((one) =>
    toPart<Raw>(site, one, { key: `${KEY}-${one.name}`, cost: `${COST}-${one.name}` }),
  );
  return toPolicy(site, parts, shared, onError);
}

/** A limit as a rule, with the functions that say its key and its cost. */
interface Part<Raw> {
  readonly rule: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly limits: readonly Limit[];
  readonly names: { readonly key: string; readonly cost: string };
  readonly keyOf: Ask<Raw, string | undefined> | undefined;
  readonly costOf: Ask<Raw, number> | undefined;
}

/** A function in code. */
type Ask<Raw, T> = (request: Raw, context: unknown) => MaybePromise<T>;

function toPart<Raw>(
  site: OptionSite,
  options: NamedLimit<Raw>,
  names: { readonly key: string; readonly cost: string },
): Part<Raw> {
  const { limit, key = "ip", name, cost = 1 } = options;
  if (limit === undefined) refuse(site, "needs a limit such as tokenBucket(…), or a policy");
  if (typeof key === "function" && options.onMissing !== undefined) {
    refuse(
      site,
      "onMissing needs dimensions as key; a key function returns undefined for a request that is not counted",
    );
  }
  const limits = [limit].flat().map((one) => (typeof one === "string" ? toLimit(site, one) : one));
  const rule: Record<string, unknown> & { id: string } = {
    id: name,
    limit: Array.isArray(limit) ? limits : limits[0],
  };
  for (const field of PASSED_ON) if (options[field] !== undefined) rule[field] = options[field];
  rule.key = typeof key === "function" ? `attribute:${names.key}` : key;
  if (typeof key === "function") rule.onMissing = "skip";
  rule.cost = typeof cost === "function" ? { function: names.cost } : cost;
  const keyOf = typeof key === "function" ? key : undefined;
  const costOf = typeof cost === "function" ? cost : undefined;
  return { rule, limits, names, keyOf, costOf };
}

function toPolicy<Raw>(
  site: OptionSite,
  parts: readonly Part<Raw>[],
  shared: SharedOptions<Raw>,
  onError: ((error: unknown) => unknown) | undefined,
): SimplePolicy {
  const { store, clock, onStoreFailure } = shared;
  const rules = parts.map(({ rule }) => rule);
  const setup: PolicyOptions = { rules: readRulesObject({ version: 1, rules }) };
  if (store !== undefined) setup.store = store;
  if (clock !== undefined) setup.clock = clock;
  if (onStoreFailure !== undefined) setup.onStoreFailure = onStoreFailure;
  const costed = parts.filter(({ costOf }) => costOf !== undefined).map(({ names }) => names.cost);
  if (costed.length > 0) {
    setup.costs = Object.fromEntries(costed.map((name) => [name, toCostOf(name)]));
  }
  if (onError !== undefined) {
    setup.onEvent = (event) => (event.kind === "settle-failed" ? onError(event.error) : undefined);
  }
  const prepare = toPrepare(parts, shared);
  const policy = new Policy(setup, parseObject);
  const release = store === undefined ? () => {} : claimNames(site, store, parts);
  return { policy, prepare, isKeyed: parts.every(({ keyOf }) => keyOf !== undefined), release };
}

/** Reads rules from an object. Strings are left to `parseRules`: it loads a YAML parser, and limits in code need none. */
function parseObject(rules: string | object): RuleSet {
  if (typeof rules !== "string") return readRulesObject(rules);
  const fix = "parse it first: policy.replace(parseRules(text)), with parseRules of sluice/rules";
  throw new SluiceError("SLUICE_OPTION_INVALID", `rules must not be a string here; ${fix}`);
}

/** Claims the names of all limits or of none. Returns a function that releases them. */
function claimNames<Raw>(site: OptionSite, store: object, parts: readonly Part<Raw>[]): () => void {
  const claims: (() => void)[] = [];
  const release = () => {
    for (const releaseOne of claims) releaseOne();
  };
  try {
    for (const { rule, limits } of parts) {
      claims.push(claimName(site, store, { name: rule.id, limits }));
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** The key that a `key` function returned for a request; undefined if there is no such function. */
export function keyOf(attributes: Attributes | undefined): string | undefined {
  return attributes?.[KEY] as string | undefined;
}

/** A request that would be counted by this key: what a `key` function returned, or an address. */
export function factsOf(key: string, isKeyed: boolean): Facts {
  const by = isKeyed ? { attributes: { [KEY]: key } } : { ip: key };
  return { method: "GET", path: "/", ...by };
}

function toCostOf(name: string): (facts: Facts) => number {
  return ({ attributes }) => attributes?.[name] as number;
}

function toPrepare<Raw>(
  parts: readonly Part<Raw>[],
  shared: SharedOptions<Raw>,
): Prepare | undefined {
  const { skip, attributes } = shared as { skip?: Ask<Raw, boolean> } & typeof shared;
  const asks = parts.some(({ keyOf, costOf }) => keyOf !== undefined || costOf !== undefined);
  if (skip === undefined && attributes === undefined && !asks) return undefined;
  const counted = (request: Raw, context: unknown) => {
    const found = findAll(parts, request, context);
    if (attributes === undefined) return found;
    return andThen(found, (own) =>
      own === undefined
        ? undefined
        : andThen(attributes(request, context), (more) => ({ ...more, ...own })),
    );
  };
  return ((request: Raw, context: unknown) => {
    if (skip === undefined) return counted(request, context);
    return andThen(skip(request, context), (isSkipped) =>
      isSkipped ? undefined : counted(request, context),
    );
  }) as Prepare;
}

/** What the functions of all limits answer; undefined if none of them counts the request. */
function findAll<Raw>(
  parts: readonly Part<Raw>[],
  request: Raw,
  context: unknown,
): MaybePromise<Attributes | undefined> {
  let found = find(parts[0], request, context);
  for (let i = 1; i < parts.length; i++) {
    const part = parts[i];
    found = andThen(found, (before) =>
      andThen(find(part, request, context), (more) =>
        before === undefined || more === undefined ? (before ?? more) : { ...before, ...more },
      ),
    );
  }
  return found;
}

function find<Raw>(
  part: Part<Raw>,
  request: Raw,
  context: unknown,
): MaybePromise<Attributes | undefined> {
  const { keyOf, costOf, names } = part;
  const withCost = (found: Attributes): MaybePromise<Attributes> =>
    costOf === undefined
      ? found
      : andThen(costOf(request, context), (units) => ({ ...found, [names.cost]: units }));
  if (keyOf === undefined) return withCost({});
  return andThen(keyOf(request, context), (key) => {
    if (key === undefined) return undefined;
    checkKey(key);
    return withCost({ [names.key]: key });
  });
}

/** An empty key is a mistake: all callers without one would share it. */
function checkKey(key: unknown): void {
  if (typeof key === "string" && key !== "") return;
  throw new SluiceError("SLUICE_KEY_INVALID", `the key function answered ${show(key)}`);
}
