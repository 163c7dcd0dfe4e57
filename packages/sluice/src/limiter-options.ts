// The options of a limiter, and the counters that follow from them.

import { type Clock, systemClock } from "./clock.js";
import { show } from "./errors.js";
import type { Limit } from "./limits.js";
import { asOptions, refuse } from "./options.js";
import { memoryStore } from "./stores/memory/store.js";
import type { Counter, Store } from "./stores/store.js";

/** Options of `createLimiter`. */
export interface LimiterOptions<S extends Store = Store> {
  /** One limit, or several that are decided all or nothing. */
  limit: Limit | readonly Limit[];
  /** Where the counters are. Default: a memory store of its own. */
  store?: S;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /**
   * Tells the counters of limiters apart that share a store; default `"default"`. A limiter with
   * the same name and algorithm but other numbers takes over what was used.
   */
  name?: string;
}

/** Options, validated and filled in. */
export interface LimiterSetup {
  readonly name: string;
  readonly counters: readonly Counter[];
  readonly store: Store;
  /** Whether the store was made for this limiter and goes with it. */
  readonly ownsStore: boolean;
  readonly clock: Clock;
}

const SITE = { name: "createLimiter", code: "SLUICE_OPTION_INVALID" } as const;

/** Validates options and fills in defaults. */
export function toSetup(options: LimiterOptions): LimiterSetup {
  const given = asOptions(SITE, options);
  const name = toName(given.name ?? "default");
  const limits = toLimits(given.limit);
  const counters = limits.map((limit, part) => Object.freeze({ scope: name, part, limit }));
  const store = given.store === undefined ? memoryStore() : toStore(given.store);
  const clock = toClock(given.clock ?? systemClock);
  return { name, counters, store, ownsStore: given.store === undefined, clock };
}

function toName(name: unknown): string {
  if (typeof name === "string" && name.length > 0) return name;
  refuse(SITE, `name must be a non-empty string, got ${show(name)}`);
}

function toLimits(limit: unknown): readonly Limit[] {
  const limits: readonly unknown[] = Array.isArray(limit) ? limit : [limit];
  if (limits.length === 0) refuse(SITE, "limit must be one limit or several, got []");
  return limits.map(toLimit);
}

function toLimit(limit: unknown): Limit {
  // The constructors freeze what they made; anything else was not validated by them.
  const isMade = typeof limit === "object" && limit !== null && Object.isFrozen(limit);
  if (isMade && "algorithm" in limit && "recoveryMs" in limit) return limit as Limit;
  refuse(SITE, `limit must be made by tokenBucket(…) or another constructor, got ${show(limit)}`);
}

function toStore(store: unknown): Store {
  if (typeof store === "object" && store !== null && "decide" in store) return store as Store;
  refuse(SITE, `store must be a store such as memoryStore(), got ${show(store)}`);
}

function toClock(clock: unknown): Clock {
  const isClock = typeof clock === "object" && clock !== null && "now" in clock;
  if (isClock && typeof clock.now === "function") return clock as Clock;
  refuse(SITE, `clock must have a function now(), got ${show(clock)}`);
}
