// The options of a limiter, and the counters that follow from them.

import { type Clock, toClock } from "../base/clock.js";
import { show } from "../base/errors.js";
import { asOptions, oneOf, orDefault, refuse, whole } from "../base/shapes/code-options.js";
import { isLimit, type Limit } from "../limits/limits.js";
import { type LimitOrRate, toLimit } from "../limits/rate.js";
import { toGuarded } from "../stores/guarded.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { POLICIES, TIMEOUT_BOUNDS } from "../stores/resilient/resilient-options.js";
import type { Counter, FailurePolicy, Store } from "../stores/store.js";
import { claimName } from "./claimed-names.js";

/** Options of `createLimiter`. */
export interface LimiterOptions<S extends Store = Store> {
  /** One limit, or several that are decided all or nothing. A limit may be a rate such as `"100/minute"`. */
  limit: LimitOrRate | readonly LimitOrRate[];
  /** Where the counters are. Default: a memory store of its own. */
  store?: S;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /**
   * Which counters of the store it uses; default `"default"`. Limiters of one name share their counters, in
   * other processes too. Within one process, different numbers under one name are an error until the first
   * limiter is closed, and so is a second limiter without a name. A limiter with the same name and algorithm
   * but other numbers takes over what was used.
   */
  name?: string;
  /**
   * What happens when a store behind a network does not answer: `"open"` admits, `"closed"` refuses,
   * `"local"` (default) decides in this process under half of each limit, `"throw"` rejects. Events
   * and finer settings: pass `resilient(store, { … })` as the store.
   */
  onStoreFailure?: FailurePolicy;
  /**
   * How long a store behind a network may take for a decision before `onStoreFailure` answers, in
   * whole milliseconds from 1 to 60,000; default 50. With `"throw"` there is no deadline unless this
   * is given. A store in this process answers synchronously, whatever this says. Counts before what
   * `resilient` was given.
   */
  timeoutMs?: number;
}

/** Options, validated and filled in. */
export interface LimiterSetup {
  readonly name: string;
  readonly counters: readonly Counter[];
  readonly store: Store;
  /** Whether the store was made for this limiter and goes with it. */
  readonly ownsStore: boolean;
  readonly clock: Clock;
  /** Gives the name up, so that another limiter over the same store can have it. */
  readonly releaseName: () => void;
}

const SITE = { name: "createLimiter", code: "SLUICE_OPTION_INVALID" } as const;
const KNOWN = ["limit", "store", "clock", "name", "onStoreFailure", "timeoutMs"] as const;

/** Validates options and fills in defaults. */
export function toSetup(options: LimiterOptions): LimiterSetup {
  if (isLimit(options)) {
    refuse(SITE, `got a limit alone; write createLimiter({ limit: ${options.algorithm}(…) })`);
  }
  const given = asOptions(SITE, options, KNOWN);
  const name = toName(orDefault(given.name, "default"));
  const onStoreFailure = toPolicy(given.onStoreFailure);
  // Nothing said is nothing handed on, so that a decorator's own policy counts.
  const timeoutMs = toTimeoutMs(given.timeoutMs);
  const counters = toLimits(given.limit).map((limit, part) => {
    // Not spread together: an object made so is slow to read, and each decision reads it.
    const counter: { -readonly [K in keyof Counter]: Counter[K] } = { scope: name, part, limit };
    if (onStoreFailure !== undefined) counter.onStoreFailure = onStoreFailure;
    if (timeoutMs !== undefined) counter.timeoutMs = timeoutMs;
    return Object.freeze(counter);
  });
  const bare = given.store === undefined ? memoryStore() : toStore(given.store);
  const clock = toClock(SITE, given.clock);
  const store = toGuarded(bare, { onStoreFailure, timeoutMs, clock });
  const ownsStore = given.store === undefined;
  const limits = counters.map(({ limit }) => limit);
  const isAlone = given.name === undefined;
  const releaseName = ownsStore ? () => {} : claimName(SITE, bare, { name, limits, isAlone });
  return { name, counters, store, ownsStore, clock, releaseName };
}

function toPolicy(policy: unknown): FailurePolicy | undefined {
  return policy === undefined ? undefined : oneOf(SITE, "onStoreFailure", policy, POLICIES);
}

function toTimeoutMs(timeoutMs: unknown): number | undefined {
  if (timeoutMs === undefined) return undefined;
  return whole(SITE, "timeoutMs", timeoutMs, TIMEOUT_BOUNDS);
}

function toName(name: unknown): string {
  if (typeof name === "string" && name.length > 0) return name;
  refuse(SITE, `name must be a non-empty string, got ${show(name)}`);
}

function toLimits(limit: unknown): readonly Limit[] {
  const limits: readonly unknown[] = Array.isArray(limit) ? Array.from(limit) : [limit];
  if (limits.length === 0) refuse(SITE, "limit must be one limit or several, got []");
  return limits.map((one) => toLimit(SITE, one));
}

const STORE_VERBS = [
  "decide",
  "peek",
  "debit",
  "settle",
  "refund",
  "block",
  "unblock",
  "reset",
  "close",
] as const satisfies readonly (keyof Store)[];

function toStore(store: unknown): Store {
  const missing = STORE_VERBS.filter((verb) => !hasFunction(store, verb));
  if (missing.length === 0) return store as Store;
  const lacks = `lacks ${missing.join(", ")}`;
  refuse(SITE, `store must be a store such as memoryStore(), got ${show(store)}, which ${lacks}`);
}

function hasFunction(value: unknown, name: string): boolean {
  return isObject(value) && typeof value[name] === "function";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
