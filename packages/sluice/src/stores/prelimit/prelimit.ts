// A coarse local limit in front of a store, which absorbs floods: it counts the attempts that would
// reach the store and refuses in process what is beyond any honest use. It counts for itself, in
// bounded memory, and knows neither costs nor what the store answers.

import { type Clock, countedMsOf, toClock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import type { MaybePromise } from "../../base/maybe-promise.js";
import { readOptions, refuse } from "../../base/shapes/code-options.js";
import {
  anything,
  choice,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import { isShaper, type Limit } from "../../limits/limits.js";
import { type LimitOrRate, limitInCode } from "../../limits/rate.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import { type MemoryStore, memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, DecideOptions, Outcome, Store } from "../store.js";

/** Options of {@link prelimit}. */
export interface PrelimitOptions {
  /**
   * The coarse limit: how many attempts may reach the store. Choose it well above honest use. Any
   * limit but `concurrency` and a `leakyBucket` that shapes, since nothing waits here.
   */
  limit: LimitOrRate;
  /**
   * `"key"` (default) counts each key of a limiter apart; `"scope"` counts all keys of one limiter
   * together, against floods of ever new keys.
   */
  by?: "key" | "scope";
  /** The most keys counted at the same time; beyond it the least used is forgotten. Default 100,000. */
  keysMax?: number;
  /** Default: monotonic time, and the wall clock for a quota. */
  clock?: Clock;
}

const SITE = { name: "prelimit", code: "SLUICE_OPTION_INVALID" } as const;
const KEYS_MAX = 100_000_000;
const OPTIONS = object({
  limit: required(limitInCode),
  by: withDefault(choice(["key", "scope"]), "key"),
  keysMax: withDefault(wholeNumber({ min: 1, max: KEYS_MAX }), 100_000),
  clock: optional(anything()),
} satisfies Record<keyof PrelimitOptions, unknown>);
/** How many scopes' counters are cached. */
const SCOPES_MAX = 1_024;
/** The key under which all keys of a scope are counted. */
const WHOLE_SCOPE = "*";

/** A store behind a coarse local limit. Made by {@link prelimit}. */
export class PrelimitStore extends ForwardingStore {
  readonly #limit: Limit;
  readonly #by: "key" | "scope";
  readonly #clock: Clock;
  readonly #attempts: MemoryStore;
  readonly #counters = new Map<string, Counter>();

  constructor(store: Store, options: PrelimitOptions) {
    super(store);
    const { limit, by, keysMax, clock } = readOptions(SITE, OPTIONS, options);
    checkCoarse(limit);
    this.#limit = limit;
    this.#by = by;
    this.#clock = toClock(SITE, clock);
    this.#attempts = memoryStore({ keysMax });
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    const attempt = this.#counterOf(counter.scope);
    const verdict = this.#attempts.decideOne(attempt, this.#keyOf(key), 1, this.#nowMs());
    if (isBeyond(verdict)) return verdict;
    return super.decideOne(counter, key, cost, nowMs, blockNowMs);
  }

  /**
   * One attempt for each different key, or scope, of the request; if one is beyond the coarse limit,
   * none is counted. One that has shadow charges alone is counted as a shadow: it refuses nothing.
   */
  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    const attempts = this.#toAttempts(charges);
    const { verdicts } = this.#attempts.decide(attempts);
    const isRefused = attempts.some(({ shadow }, i) => shadow !== true && isBeyond(verdicts[i]));
    if (!isRefused) return super.decide(charges, options);
    const verdictOf = (charge: Charge) =>
      verdicts[attempts.findIndex((attempt) => this.#isCountedBy(attempt, charge))];
    return { allowed: false, verdicts: charges.map(verdictOf), receipts: [] };
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    for (const { counter, key } of charges) this.#forget(counter.scope, key);
    return super.reset(charges);
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    this.#forget(scope, key);
    return super.unblock(scope, key);
  }

  override close(): MaybePromise<void> {
    this.#attempts.close();
    return super.close();
  }

  #toAttempts(charges: readonly Charge[]): readonly Charge[] {
    const nowMs = this.#nowMs();
    const attempts: Charge[] = [];
    for (const charge of charges) {
      const at = attempts.findIndex((attempt) => this.#isCountedBy(attempt, charge));
      const shadow = charge.shadow === true && (attempts[at]?.shadow ?? true);
      const counter = this.#counterOf(charge.counter.scope);
      const attempt = { counter, key: this.#keyOf(charge.key), cost: 1, nowMs, shadow };
      if (at < 0) attempts.push(attempt);
      else attempts[at] = attempt;
    }
    return attempts;
  }

  #isCountedBy(attempt: Charge, { counter, key }: Charge): boolean {
    return attempt.counter.scope === counter.scope && attempt.key === this.#keyOf(key);
  }

  /** Resets the attempts of a key. The attempts of a whole scope are not reset with one key. */
  #forget(scope: string, key: string): void {
    if (this.#by === "scope") return;
    const counter = this.#counterOf(scope);
    this.#attempts.reset([{ counter, key, cost: 0, nowMs: this.#nowMs() }]);
  }

  /** The attempts of a scope. A recreated counter finds what was counted, by its name. */
  #counterOf(scope: string): Counter {
    const known = this.#counters.get(scope);
    if (known !== undefined) return known;
    const counter = { scope, part: 0, limit: this.#limit };
    if (this.#counters.size >= SCOPES_MAX) this.#counters.clear();
    this.#counters.set(scope, counter);
    return counter;
  }

  #keyOf(key: string): string {
    return this.#by === "key" ? key : WHOLE_SCOPE;
  }

  #nowMs(): number {
    return countedMsOf(this.#clock, this.#limit.algorithm === "quota");
  }
}

/**
 * Puts a coarse local limit in front of a store. Every `check`, `reserve` and `acquire` is one
 * attempt, whatever its cost and whether or not it has a request id; what the store then refuses
 * stays counted. An attempt beyond the limit is refused immediately with the coarse limit's own numbers
 * and the source `"memory"`, and the store does not hear of it. `peek` does not count; `reset` and
 * `unblock` of a key reset its attempts where keys are counted separately.
 */
export function prelimit(store: Store, options: PrelimitOptions): PrelimitStore {
  return new PrelimitStore(guardedFor(store, options), options);
}

/** Whether the limit refuses. Refused with something left, memory was full: no fault of the key. */
function isBeyond({ allowed, remaining }: Verdict): boolean {
  return !allowed && remaining === 0;
}

/** Refuses limits that delay or hold something: a prelimit does neither. */
function checkCoarse(limit: Limit): void {
  const shapes = isShaper(limit);
  if (limit.algorithm === "concurrency" || shapes) {
    const seen = shapes ? 'a leakyBucket of mode "shape"' : "concurrency";
    refuse(SITE, `limit must decide immediately and hold nothing, got ${seen}`);
  }
}
