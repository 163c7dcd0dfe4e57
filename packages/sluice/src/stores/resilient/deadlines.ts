// Deadlines of many requests that all have the same time: a queue in which the first to come is the
// first to expire, and one timer for all of it.

import { atEndOfTurn, type CancelTimer, type Clock, startTimer } from "../../base/clock.js";

/** The most requests that wait at the same time. A store that is further behind gets no more of them. */
export const PENDING_MAX = 100_000;

/**
 * A timer that is later than this was held up by other work, and so was everything else: requests go out at
 * the end of a turn of the event loop, and answers are read in the next one. Both happen before the deadline
 * expires, because a process that is too busy to ask or to read says nothing about the store.
 */
const HELD_UP_MS = 10;

/** Called when the deadline has passed. `failure` says why. */
export type Expire = (failure: unknown) => void;

/** One request that waits. */
export class Deadline {
  isOver = false;
  previous: Deadline | undefined = undefined;
  next: Deadline | undefined = undefined;
  readonly dueMs: number;
  readonly expire: Expire;

  constructor(dueMs: number, expire: Expire) {
    this.dueMs = dueMs;
    this.expire = expire;
  }
}

/** All requests that wait for one store with one deadline. */
export class Deadlines {
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #toFailure: (seen: string) => unknown;
  #first: Deadline | undefined;
  #last: Deadline | undefined;
  #size = 0;
  #cancelTimer: CancelTimer | undefined;

  constructor(clock: Clock, timeoutMs: number, toFailure: (seen: string) => unknown) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
    this.#toFailure = toFailure;
  }

  /** Whether {@link PENDING_MAX} requests wait already. */
  get isFull(): boolean {
    return this.#size >= PENDING_MAX;
  }

  /** Calls `expire` in `timeoutMs`, unless the deadline is ended before. */
  add(expire: Expire): Deadline {
    const deadline = new Deadline(this.#clock.now() + this.timeoutMs, expire);
    deadline.previous = this.#last;
    if (this.#last === undefined) this.#first = deadline;
    else this.#last.next = deadline;
    this.#last = deadline;
    this.#size++;
    if (this.#cancelTimer === undefined) this.#start(deadline.dueMs);
    return deadline;
  }

  /** Ends a deadline because its answer came; false if that was too late. */
  end(deadline: Deadline): boolean {
    if (deadline.isOver) return false;
    deadline.isOver = true;
    const { previous, next } = deadline;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // One that lives on must not keep all that came after it.
    deadline.previous = undefined;
    deadline.next = undefined;
    this.#size--;
    // The timer runs on: the next one to be due is found when it fires.
    return true;
  }

  /** Ends all that wait, for a reason other than time. */
  expireAll(seen: string): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#expireBy(Number.POSITIVE_INFINITY, seen);
  }

  #start(dueMs: number): void {
    // At most a whole deadline away, also by a clock that was set back.
    const delayMs = Math.min(this.timeoutMs, Math.max(0, dueMs - this.#clock.now()));
    this.#cancelTimer = startTimer(this.#clock, delayMs, () => this.#fire(dueMs));
  }

  #fire(dueMs: number): void {
    const nowMs = this.#clock.now();
    // The timer is trusted even where the clock lags behind it: no request waits for ever.
    const byMs = Math.max(dueMs, nowMs);
    if (nowMs - dueMs <= HELD_UP_MS) this.#expireAndGoOn(byMs);
    else atEndOfTurn(() => atEndOfTurn(() => this.#expireAndGoOn(byMs)));
  }

  #expireAndGoOn(byMs: number): void {
    this.#expireBy(byMs, `no answer within ${this.timeoutMs} ms`);
    this.#cancelTimer = undefined;
    if (this.#first !== undefined) this.#start(this.#first.dueMs);
  }

  #expireBy(byMs: number, seen: string): void {
    // One error for all requests that expire together, made only if one does: most answers come in time.
    let failure: unknown;
    // Requests that are added meanwhile are due later, or belong to the caller that closes the queue.
    for (let left = this.#size; left > 0; left--) {
      const first = this.#first;
      if (first === undefined || first.dueMs > byMs) return;
      this.end(first);
      failure ??= this.#toFailure(seen);
      first.expire(failure);
    }
  }
}
