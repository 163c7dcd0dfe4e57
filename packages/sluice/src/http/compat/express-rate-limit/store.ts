/**
 * Our stores as a `store` of express-rate-limit: its options and responses stay as they are, and the
 * hits are counted in bounded memory or in Redis.
 *
 * @module
 */

import type { ClientRateLimitInfo, Store as HitStore, Options } from "express-rate-limit";
import { type Clock, toClock, toWholeMs, wallMsOf } from "../../../base/clock.js";
import { SluiceError, show } from "../../../base/errors.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { nonEmptyString, readOptions, refuse } from "../../../base/shapes/code-options.js";
import { anything, object, optional, withDefault } from "../../../base/shapes/shapes.js";
import { type FixedWindowLimit, fixedWindow } from "../../../limits/limits.js";
import { anyStore } from "../../../stores/any-store.js";
import { toGuarded } from "../../../stores/guarded.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import type { Charge, Counter, CounterStatus, Store } from "../../../stores/store.js";

/** Options of {@link expressRateLimitStore}. */
export interface ExpressRateLimitStoreOptions {
  /** Where the hits are counted. Default: a memory store of its own. */
  store?: Store;
  /**
   * Distinguishes the counters of several limiters that share a store, and is the `prefix` by which
   * express-rate-limit notices a request that is counted twice; default `"express-rate-limit"`.
   */
  name?: string;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
}

const SITE = { name: "expressRateLimitStore", code: "SLUICE_OPTION_INVALID" } as const;
const OPTIONS = object({
  store: optional(anyStore),
  name: withDefault(nonEmptyString, "express-rate-limit"),
  clock: optional(anything()),
} satisfies Record<keyof ExpressRateLimitStoreOptions, unknown>);

/** Hits are counted whatever the limit is; if that is a function, up to this many. */
const HITS_MAX = 2 ** 24;

/**
 * A store for one `rateLimit()` of express-rate-limit. Hits are counted in fixed windows of its
 * `windowMs`, each of which starts with the first hit of its key. A store
 * behind a network that fails, or takes longer than a second, rejects: `passOnStoreError` then says what
 * happens. There is no `resetAll`: the counters in Redis are not listed anywhere, and those in memory
 * end with the process.
 */
export function expressRateLimitStore(
  options: ExpressRateLimitStoreOptions = {},
): ExpressRateLimitStore {
  return new ExpressRateLimitStore(options);
}

/** Made by {@link expressRateLimitStore}. */
export class ExpressRateLimitStore implements HitStore {
  /** Whether no other limiter can count into the same counters. */
  readonly localKeys: boolean;
  readonly prefix: string;
  readonly #store: Store;
  readonly #clock: Clock;
  #counter: Counter | undefined;

  constructor(options: ExpressRateLimitStoreOptions) {
    const { store, name, clock } = readOptions(SITE, OPTIONS, options);
    this.localKeys = store === undefined;
    this.prefix = name;
    this.#clock = toClock(SITE, clock);
    this.#store = toGuarded(store ?? memoryStore(), { clock: this.#clock });
  }

  /** Called by express-rate-limit, once, with its options. */
  init({ windowMs, limit }: Pick<Options, "windowMs" | "limit">): void {
    const window = fixedWindow({ windowMs, limit: toUnits(limit), align: "first" });
    if (this.#counter !== undefined && !isSame(this.#counter.limit as FixedWindowLimit, window)) {
      refuse(SITE, "one store serves one rateLimit(), make another for the next one");
    }
    this.#counter ??= Object.freeze({ scope: this.prefix, part: 0, limit: window });
  }

  /** Counts one hit, also one beyond the limit, and returns how many there are in this window. */
  increment(key: string): MaybePromise<ClientRateLimitInfo> {
    return andThen(this.#store.debit([this.#toCharge(key, 1)]), (statuses) =>
      this.#toInfo(statuses[0]),
    );
  }

  /** Takes one hit back, if it was in this window. */
  decrement(key: string): MaybePromise<void> {
    return andThen(this.#store.refund([this.#toCharge(key, 1)]), () => undefined);
  }

  /** How many hits there are; undefined if there is none in this window. */
  get(key: string): MaybePromise<ClientRateLimitInfo | undefined> {
    return andThen(this.#store.debit([this.#toCharge(key, 0)]), ([status]) =>
      status.used > 0 ? this.#toInfo(status) : undefined,
    );
  }

  /** Forgets the hits of a key. */
  resetKey(key: string): MaybePromise<void> {
    return this.#store.reset([this.#toCharge(key, 1)]);
  }

  /** Closes the store, unless it was passed in. */
  shutdown(): MaybePromise<void> {
    return this.localKeys ? this.#store.close() : undefined;
  }

  #toCharge(key: string, cost: number): Charge {
    const counter = this.#counter;
    if (counter === undefined) {
      throw new SluiceError("SLUICE_OPTION_INVALID", `${SITE.name}: init was not called`);
    }
    const isKey = Number.isFinite(key) || (typeof key === "string" && key !== "");
    if (!isKey) {
      throw new SluiceError("SLUICE_KEY_INVALID", `keyGenerator returned ${show(key)}`);
    }
    return { counter, key: String(key), cost, nowMs: toWholeMs(this.#clock.now()) };
  }

  #toInfo({ used, resetMs }: CounterStatus): ClientRateLimitInfo {
    return { totalHits: Math.round(used), resetTime: new Date(wallMsOf(this.#clock) + resetMs) };
  }
}

function toUnits(limit: Options["limit"]): number {
  // The share of the limit in use says which key goes when memory is full, so a known limit counts.
  const isKnown = typeof limit === "number" && Number.isInteger(limit);
  return isKnown ? Math.min(Math.max(limit, 1), HITS_MAX) : HITS_MAX;
}

function isSame(a: FixedWindowLimit, b: FixedWindowLimit): boolean {
  return a.windowMs === b.windowMs && a.capacity === b.capacity;
}
