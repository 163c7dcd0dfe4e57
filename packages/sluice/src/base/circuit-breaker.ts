// A circuit breaker: after several failures in a row a store or a backend is not asked for a while, then one request tests
// whether it is back. A test that takes too long is not waited for: a slow request, or one whose end is never reported,
// must not keep the breaker open. There is no timer: the next request sees that the time has come.

import type { Clock } from "./clock.js";

/** `half-open`: one request tests whether the store is back. */
export type BreakerState = "closed" | "open" | "half-open";

/** What a breaker is made of. */
export interface BreakerOptions {
  readonly clock: Clock;
  /** Failures in a row that open it. */
  readonly failuresMax: number;
  /** How long it stays open at first; doubled by each test that fails, up to {@link OPEN_MS_MAX}. */
  readonly openMs: number;
  /** Called when it opens, and not when a test fails. */
  readonly onOpen: (failure: unknown) => void;
  /** Called when a test has shown that the store is back. */
  readonly onClose: () => void;
}

/** However often tests fail, the next one is at most so far away (unless `openMs` is longer). */
export const OPEN_MS_MAX = 10_000;

/** The same error again within this time is the same failure, which failed many requests together. */
const TOGETHER_MS = 10;

/** What {@link Breaker.ask} answers when the store must not be asked. */
export const NO_TICKET = 0;

/** Says whether a store may be asked, and learns from what came of it. */
export class Breaker {
  readonly #options: BreakerOptions;
  readonly #openMsMax: number;
  #state: BreakerState = "closed";
  // Changes with the state, so that the answer to an earlier request says nothing about the new state.
  #ticket = 1;
  #failuresInRow = 0;
  #openMs: number;
  /** Until then the store is not asked; while it is tested, until then no other request tests it. */
  #openUntilMs = 0;
  #failure: unknown;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#openMs = options.openMs;
    this.#openMsMax = Math.max(options.openMs, OPEN_MS_MAX);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** The latest failure that counted. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Until the store may be asked again, at least 1. While it is tested 1: most tests are over soon. */
  get retryAfterMs(): number {
    return this.#state === "open" ? Math.max(1, this.#openForMs()) : 1;
  }

  /** Whether {@link ask} would yield no ticket now. */
  get isShut(): boolean {
    return this.#state !== "closed" && this.#openForMs() > 0;
  }

  /**
   * A ticket for one question to the store, or {@link NO_TICKET}. Its holder reports what came of
   * it, by `succeed`, `fail` or `abandon`.
   */
  ask(): number {
    if (this.#state === "closed") return this.#ticket;
    if (this.#openForMs() > 0) return NO_TICKET;
    if (this.#state === "half-open") {
      // A test that has not ended by now counts as failed. Whichever of several ends first decides.
      this.#openMs = Math.min(2 * this.#openMs, this.#openMsMax);
    } else {
      this.#state = "half-open";
      this.#ticket++;
    }
    this.#openUntilMs = this.#options.clock.now() + this.#openMs;
    return this.#ticket;
  }

  /** The store answered in time. */
  succeed(ticket: number): void {
    if (ticket !== this.#ticket) return;
    this.#failuresInRow = 0;
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#openMs = this.#options.openMs;
    this.#options.onClose();
  }

  /** The store failed, or did not answer in time. */
  fail(ticket: number, failure: unknown): void {
    if (ticket !== this.#ticket) return;
    // Requests that shared a call or a connection fail together: one failure, not many in a row.
    const nowMs = this.#options.clock.now();
    const isTogether = nowMs - this.#failedAtMs < TOGETHER_MS;
    if (this.#state === "closed" && isTogether && isSameError(failure, this.#failure)) return;
    this.#failure = failure;
    this.#failedAtMs = nowMs;
    if (this.#state === "half-open") {
      this.#openMs = Math.min(2 * this.#openMs, this.#openMsMax);
      this.#open();
    } else if (++this.#failuresInRow >= this.#options.failuresMax) {
      this.#open();
      this.#options.onOpen(failure);
    }
  }

  /** Nothing was learnt of the store. After a test the next request tests again. */
  abandon(ticket: number): void {
    if (ticket !== this.#ticket || this.#state !== "half-open") return;
    this.#state = "open";
    this.#ticket++;
    this.#openUntilMs = this.#options.clock.now();
  }

  #open(): void {
    this.#state = "open";
    this.#ticket++;
    this.#openUntilMs = this.#options.clock.now() + this.#openMs;
  }

  #openForMs(): number {
    const leftMs = this.#openUntilMs - this.#options.clock.now();
    // A clock that was set back must not keep the store shut out for as long as it was set back.
    if (leftMs > this.#openMs) this.#openUntilMs -= leftMs - this.#openMs;
    return Math.min(leftMs, this.#openMs);
  }
}

/** Whether two failures are one error, or have one as their cause. */
function isSameError(one: unknown, other: unknown): boolean {
  if (!(one instanceof Error && other instanceof Error)) return false;
  return one === other || (one.cause instanceof Error && one.cause === other.cause);
}
