// What a caller holds after an admission that is not final: a cost that is settled later, or one
// of N concurrent places. Each is settled once; the store knows what it holds by receipts.

import { type TimeOptions, timeOf } from "../base/clock.js";
import type { Decision, DecisionSource } from "../base/decision.js";
import { SluiceError } from "../base/errors.js";
import { isThenable, type MaybePromise } from "../base/maybe-promise.js";
import { asTimed, toCost } from "./verb-input.js";

/** A value now, or a promise of it, by whether the limiter's store answers synchronously. */
export type MaybeSync<T, IsSync extends boolean> = IsSync extends true ? T : T | Promise<T>;

/**
 * A cost that is held now and settled later. Abandoned, it stays spent. If the decision was a
 * refusal nothing is held: `cancel` does nothing and `commit` is an error.
 */
export interface Reservation<IsSync extends boolean = true> extends Decision {
  /**
   * Settles the real cost. Less than reserved refunds the rest; more is never refused, the
   * excess is debt. A second settlement is an error.
   */
  commit(actualCost: number, options?: TimeOptions): MaybeSync<void, IsSync>;
  /** Refunds everything; does nothing once settled, so it may be in a `finally` block. */
  cancel(options?: TimeOptions): MaybeSync<void, IsSync>;
}

/** One or more of N concurrent places, held until released or until it expires. */
export interface Permit<IsSync extends boolean = true> extends Decision {
  /** Releases the permit; does nothing the second time, after expiry, or if it was refused. */
  release(options?: TimeOptions): MaybeSync<void, IsSync>;
}

/** Settles what is held: `kept` units stay charged. Without a time it happens now. */
export type Settle = (kept: number, nowMs?: number) => MaybePromise<void>;

/** A decision that holds a charge, which is settled once. */
abstract class HeldDecision implements Decision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
  readonly delayMs: number;
  readonly source: DecisionSource;
  readonly blockedMs: number | undefined;
  #settle: Settle | undefined;

  constructor(decision: Decision, settle: Settle) {
    this.allowed = decision.allowed;
    this.limit = decision.limit;
    this.remaining = decision.remaining;
    this.retryAfterMs = decision.retryAfterMs;
    this.resetMs = decision.resetMs;
    this.delayMs = decision.delayMs;
    this.source = decision.source;
    this.blockedMs = decision.blockedMs;
    this.#settle = settle;
  }

  protected get isSettled(): boolean {
    return this.#settle === undefined;
  }

  protected settleOnce(kept: number, nowMs?: number): MaybePromise<void> {
    if (this.#settle === undefined || !this.allowed) return undefined;
    const settle = this.#settle;
    const settled = settle(kept, nowMs);
    // Only now: a call that throws has done nothing.
    this.#settle = undefined;
    if (!isThenable(settled)) return settled;
    // One that fails later may be tried again: what is held counts once, however often it is sent.
    return settled.then(undefined, (error: unknown) => {
      this.#settle = settle;
      throw error;
    });
  }
}

/** The reservation that limiters make. Its verbs may be passed on as bare callbacks. */
export class HeldReservation extends HeldDecision implements Reservation<false> {
  readonly commit = (actualCost: number, options?: TimeOptions): MaybePromise<void> => {
    const kept = toCost(actualCost);
    const nowMs = timeOf(asTimed(options));
    if (!this.allowed) throw new SluiceError("SLUICE_NOT_ADMITTED", `commit of ${kept}`);
    if (this.isSettled) throw new SluiceError("SLUICE_ALREADY_SETTLED", `commit of ${kept}`);
    return this.settleOnce(kept, nowMs);
  };
  readonly cancel = (options?: TimeOptions): MaybePromise<void> =>
    this.settleOnce(0, callbackTimeOf(options));
}

/** The permit that limiters make. Its verbs may be passed on as bare callbacks. */
export class HeldPermit extends HeldDecision implements Permit<false> {
  readonly release = (options?: TimeOptions): MaybePromise<void> =>
    this.settleOnce(0, callbackTimeOf(options));
}

/**
 * The time that was passed to a verb which may be a listener of events. Events pass arguments of their own, such as
 * `hadError` of a socket's close; they are ignored, or the permit would never be released.
 */
function callbackTimeOf(argument: unknown): number | undefined {
  return typeof argument === "object" && argument !== null ? timeOf(argument) : undefined;
}
