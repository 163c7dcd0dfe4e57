// Refused requests as @fastify/rate-limit counts them: into the window that refused them, beyond its limit.
// A limit of ours leaves refused requests uncounted, so this is done only where an option depends on it.

import { type Clock, systemClock } from "../../../base/clock.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { FixedWindowLimit } from "../../../limits/limits.js";
import type { DecidedRuleCharge } from "../../../rules/policy/charges/decided-charge.js";
import type { PolicyDecision } from "../../../rules/policy/policy-request/policy-decision.js";
import { toGuarded } from "../../../stores/guarded.js";
import type { Charge, CounterStatus, Store } from "../../../stores/store.js";
import type { FastifyLimitOptions } from "./fastify-options.js";

/** What is known about a key after a refusal, or without one. */
export interface Hits {
  /** Requests of the window beyond its limit. */
  readonly excess: number;
  /** How long the caller has to wait, in milliseconds; undefined: as the refusal says. */
  readonly ttlMs: number | undefined;
}

const UNKNOWN: Hits = { excess: 0, ttlMs: undefined };

/** Counts requests beyond the limit. A store that does not answer has counted none. */
export class HitCounter {
  readonly #store: Store;
  readonly #isContinued: boolean;
  readonly #isBackingOff: boolean;

  constructor(options: FastifyLimitOptions & { store: Store; clock?: Clock }) {
    this.#store = toGuarded(options.store, { clock: options.clock ?? systemClock });
    this.#isContinued = options.continueExceeding === true;
    this.#isBackingOff = !this.#isContinued && options.exponentialBackoff === true;
  }

  /** Whether a refusal changes when the window ends. */
  get isExtending(): boolean {
    return this.#isContinued || this.#isBackingOff;
  }

  /** Counts a refused request. */
  count(decision: PolicyDecision): MaybePromise<Hits> {
    const [charge] = decision.charges;
    if (charge === undefined) return UNKNOWN;
    return orUnknown(
      andThen(this.#debit(charge, 1), ({ used }) => {
        const excess = excessOf(charge, used);
        if (!this.isExtending) return { excess, ttlMs: undefined };
        return andThen(this.#restart(charge, used), () => ({
          excess,
          ttlMs: this.#ttlMs(charge, excess),
        }));
      }),
    );
  }

  /** How a key stands, without counting; undefined if the store does not answer. */
  read(decision: PolicyDecision): MaybePromise<Hits | undefined> {
    const [charge] = decision.charges;
    if (charge === undefined) return UNKNOWN;
    const hits = andThen(this.#debit(charge, 0), ({ used, resetMs }) => ({
      excess: excessOf(charge, used),
      ttlMs: used > 0 ? resetMs : 0,
    }));
    // What the store's failure means for the request was decided before: onStoreFailure says it.
    return isThenable(hits) ? hits.catch(() => undefined) : hits;
  }

  #debit(charge: DecidedRuleCharge, cost: number): MaybePromise<CounterStatus> {
    return andThen(this.#store.debit([toCharge(charge, cost)]), ([status]) => status);
  }

  /** Lets the window begin with this request, with everything that was counted in it. */
  #restart(charge: DecidedRuleCharge, used: number): MaybePromise<unknown> {
    const forgotten = this.#store.reset([toCharge(charge, 0)]);
    const counted = () => this.#store.debit([toCharge(charge, used)]);
    // Sent together, so that over a network hardly anything comes between.
    if (!isThenable(forgotten)) return counted();
    return Promise.all([forgotten, counted()]);
  }

  #ttlMs({ counter }: DecidedRuleCharge, excess: number): number {
    const { windowMs } = counter.limit as FixedWindowLimit;
    if (this.#isContinued) return windowMs;
    return Math.min(windowMs * 2 ** (excess - 1), Number.MAX_SAFE_INTEGER);
  }
}

function toCharge({ counter, key, nowMs }: DecidedRuleCharge, cost: number): Charge {
  return { counter, key, cost, nowMs };
}

/** Under a limit of 0, every request is beyond it: each costs more than there is. */
function excessOf({ units, counter }: DecidedRuleCharge, used: number): number {
  const { capacity: limit } = counter.limit as FixedWindowLimit;
  return Math.max(0, Math.round(used) - (units > limit ? 0 : limit));
}

function orUnknown(hits: MaybePromise<Hits>): MaybePromise<Hits> {
  return isThenable(hits) ? hits.catch(() => UNKNOWN) : hits;
}
