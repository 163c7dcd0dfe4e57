// What a limiter can do: its verbs. Each takes the time in its options; without it, the clock is read.

import type { TimeOptions } from "../base/clock.js";
import type { Decision } from "../base/decision.js";
import type { PeekRequest, RequestOptions } from "./request-options.js";
import type { MaybeSync, Permit, Reservation } from "./reservation.js";
import type { WaitOptions } from "./wait.js";

/** Decides requests by key. With a memory store every answer is synchronous (`IsSync`). */
export interface Limiter<IsSync extends boolean = true> {
  /** Decides, and charges if allowed. A refusal is a value and costs nothing. */
  check(key: string, options?: RequestOptions): MaybeSync<Decision, IsSync>;
  /**
   * Waits until `check` admits, and resolves with its answer. Callers that wait for the same key pass in the
   * order in which they came. Resolves with a refusal as soon as it is certain that the cost can't be spent
   * within `timeoutMs`; rejects if `signal` is aborted, or if 10,000 callers wait already.
   */
  wait(key: string, options?: WaitOptions): Promise<Decision>;
  /** Returns what `check` would answer, with what is left now. Charges nothing. */
  peek(key: string, options?: PeekRequest): MaybeSync<Decision, IsSync>;
  /** Charges a cost now and settles it later: `commit` the real cost, or `cancel`. */
  reserve(key: string, options?: RequestOptions): MaybeSync<Reservation<IsSync>, IsSync>;
  /** Takes a permit of the concurrency limit and charges the other limits. */
  acquire(key: string, options?: RequestOptions): MaybeSync<Permit<IsSync>, IsSync>;
  /**
   * An operator's grant of `cost` units (default 1), capped at full. Permits are not granted. Returns how many units
   * were really refunded: the most under any limit of the limiter, 0 if nothing was in use. It is read before and
   * after, so requests of the same key in between can make it differ.
   */
  refund(key: string, cost?: number, options?: TimeOptions): MaybeSync<number, IsSync>;
  /** Refuses the key for that long, whatever is left; Infinity blocks until `unblock`. */
  block(key: string, forMs: number, options?: TimeOptions): MaybeSync<void, IsSync>;
  /** Ends a block immediately. Returns whether there was one: a block that had ended by that time does not count. */
  unblock(key: string, options?: TimeOptions): MaybeSync<boolean, IsSync>;
  /** Forgets what the key has used, permits included. A block stays. */
  reset(key: string, options?: TimeOptions): MaybeSync<void, IsSync>;
  /**
   * Ends the limiter, and its store if it was not passed in. Every later call is an error, except
   * that what is out can still be settled. A memory store that was passed in may then drop, after a while,
   * what was counted; a limiter of the same name and numbers that is made before that continues the count.
   */
  close(): MaybeSync<void, IsSync>;
}
