// What stands between a request and a store that may fail: a circuit breaker that stops asking
// a failing store, a deadline for every answer, and a bound on the work of the store at a time, so that a
// flood waits here and does not delay the requests of other callers. It knows nothing about policies: each
// request brings its own fallback answer.

import { Breaker, type BreakerOptions, NO_TICKET } from "../../../base/circuit-breaker.js";
import type { Clock } from "../../../base/clock.js";
import { SluiceError } from "../../../base/errors.js";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { isFenced } from "../../fence-store.js";
import { type Deadline, type Deadlines, PENDING_MAX } from "../deadlines.js";
import { isMisuse, StoreBusy } from "../store-failure.js";
import { FairQueue } from "./fair-queue.js";

/**
 * The most charges that the store has to decide at a time: some milliseconds of work for Redis, well within a
 * deadline, and enough to keep it busy in spite of the network, so that only a flood ever waits for room.
 */
export const CHARGES_MAX = 1_024;

/** A request to a store: `Sent` is what the store answers, `Answer` what the caller gets. */
export abstract class Guarded<Sent, Answer> {
  /** Whether the caller has gone on with what was answered instead. */
  isOver = false;
  /** How many charges the store has to look at. */
  abstract readonly size: number;
  /** Whose request it is: while there is no room, callers take turns. */
  abstract readonly caller: string;
  /** Asks the store. May throw. */
  abstract send(): MaybePromise<Sent>;
  /** What the caller gets for an answer that came in time. */
  abstract accept(sent: Sent): Answer;
  /** What the caller gets if the store does not answer. May throw. */
  abstract instead(failure: unknown): Answer;
  /** Called with an answer that came too late. Exceptions that it throws are ignored. */
  late(_sent: Sent): void {}
}

/** What a guard is made of. */
export interface StoreGuardOptions extends BreakerOptions {
  readonly clock: Clock;
  /** Called after each answer that came in time. */
  readonly onAnswer: () => void;
}

/** Lets requests through to a store, or has them answered without it. */
export class StoreGuard {
  readonly breaker: Breaker;
  readonly #clock: Clock;
  readonly #onAnswer: () => void;
  readonly #queue = new FairQueue<Queued>();
  /** Charges that the store has not answered yet. */
  #underWay = 0;
  #failures = 0;
  /** Failures that were reported to the breaker. */
  #counted = 0;
  #isClosed = false;

  constructor(options: StoreGuardOptions) {
    this.breaker = new Breaker(options);
    this.#clock = options.clock;
    this.#onAnswer = options.onAnswer;
  }

  /** Requests that the store failed or did not answer in time. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The store's answer, or what the request says instead. Synchronous where the store answers synchronously or
   * is not asked; a failure is always a rejection, misuse is thrown as the store threw it.
   */
  ask<Sent, Answer>(request: Guarded<Sent, Answer>, deadlines: Deadlines): MaybePromise<Answer> {
    if (deadlines.isFull) return answerInstead(request, tooManyPending());
    // An open breaker answers immediately, even requests that would have to wait for room.
    if (this.breaker.state === "closed" && this.#mustWait(request.size)) {
      return this.#wait(request, deadlines, (wait) => {
        const { size, caller } = request;
        this.#queue.push(caller, { size, send: () => this.#sendInTurn(wait) });
      });
    }
    const ticket = this.breaker.ask();
    if (ticket === NO_TICKET) return answerInstead(request, this.breaker.failure);
    let answer: Answer;
    try {
      const sent = request.send();
      if (isThenable(sent)) {
        return this.#wait(request, deadlines, (wait) => this.#follow(wait, sent, ticket));
      }
      answer = request.accept(sent);
    } catch (error) {
      if (this.#isFailure(ticket, error)) return answerInstead(request, error);
      throw error;
    }
    this.#succeed(ticket);
    return answer;
  }

  /** From now on nothing is learnt of the store: what expires now does not for its fault. */
  close(): void {
    this.#isClosed = true;
  }

  #wait<Sent, Answer>(
    request: Guarded<Sent, Answer>,
    deadlines: Deadlines,
    begin: (wait: Wait<Sent, Answer>) => void,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const deadline = deadlines.add((failure) => this.#expire(wait, failure));
      const wait = {
        request,
        deadlines,
        deadline,
        resolve,
        reject,
        ticket: NO_TICKET,
        sentAfter: 0,
      };
      begin(wait);
    });
  }

  /** While others wait, a request that would fit waits too: otherwise a large one would never find room. */
  #mustWait(size: number): boolean {
    return !this.#hasRoom(size) || (this.#queue.first !== undefined && this.#underWay > 0);
  }

  /** A request that is larger than the bound is sent alone. */
  #hasRoom(size: number): boolean {
    return this.#underWay === 0 || this.#underWay + size <= CHARGES_MAX;
  }

  /** Sends what waited for room, if the store still has time to answer it. */
  #sendInTurn<Sent, Answer>(wait: Wait<Sent, Answer>): void {
    const { request, deadlines, deadline } = wait;
    if (deadline.isOver || this.#isClosed) return;
    if (deadline.dueMs - this.#clock.now() < deadlines.timeoutMs / 2) {
      deadlines.end(deadline);
      this.#fail(wait, new StoreBusy(CHARGES_MAX));
      return;
    }
    const ticket = this.breaker.ask();
    if (ticket === NO_TICKET) {
      deadlines.end(deadline);
      wait.resolve(answerInstead(request, this.breaker.failure));
      return;
    }
    try {
      this.#follow(wait, Promise.resolve(request.send()), ticket);
    } catch (error) {
      deadlines.end(deadline);
      wait.ticket = ticket;
      wait.sentAfter = this.#counted;
      this.#fail(wait, error);
    }
  }

  /** Waits for what was sent. */
  #follow<Sent, Answer>(wait: Wait<Sent, Answer>, sent: Promise<Sent>, ticket: number): void {
    const { request, deadlines } = wait;
    wait.ticket = ticket;
    wait.sentAfter = this.#counted;
    this.#underWay += request.size;
    const take = (value: Sent) => {
      if (!deadlines.end(wait.deadline)) return takeLate(request, value);
      this.#underWay -= request.size;
      try {
        wait.resolve(request.accept(value));
      } catch (error) {
        // The store's answer is invalid; the caller must not be left waiting.
        this.#fail(wait, error);
        return this.#sendWaiting();
      }
      this.#succeed(ticket);
      this.#sendWaiting();
    };
    Promise.resolve(sent).then(take, (error: unknown) => {
      // An error that comes after the deadline no longer matters.
      if (!deadlines.end(wait.deadline)) return;
      this.#underWay -= request.size;
      this.#fail(wait, error);
      this.#sendWaiting();
    });
  }

  #expire<Sent, Answer>(wait: Wait<Sent, Answer>, failure: unknown): void {
    const { request, ticket } = wait;
    request.isOver = true;
    if (ticket === NO_TICKET) {
      this.#fail(wait, new StoreBusy(CHARGES_MAX));
      return;
    }
    // Whatever becomes of it, other requests don't wait for it.
    this.#underWay -= request.size;
    if (request.size > CHARGES_MAX) {
      // A request as large as this may take too long by itself, which says nothing about the store.
      this.breaker.abandon(ticket);
      wait.ticket = NO_TICKET;
    }
    this.#fail(wait, failure);
    this.#sendWaiting();
  }

  /**
   * Sends as many of those that wait as there is room for. Only after what made room has counted: else the failures of
   * those that are sent now would count as part of that one.
   */
  #sendWaiting(): void {
    for (;;) {
      const next = this.#queue.first;
      if (next === undefined || !this.#hasRoom(next.size)) return;
      this.#queue.shift();
      next.send();
    }
  }

  #fail<Sent, Answer>(wait: Wait<Sent, Answer>, error: unknown): void {
    const { request, ticket, sentAfter, resolve, reject } = wait;
    if (this.#isFailure(ticket, error, sentAfter)) resolve(answerInstead(request, error));
    else reject(error);
  }

  #succeed(ticket: number): void {
    this.breaker.succeed(ticket);
    this.#onAnswer();
  }

  #isFailure(ticket: number, error: unknown, sentAfter = this.#counted): boolean {
    if (isMisuse(error)) {
      this.breaker.abandon(ticket);
      return false;
    }
    if (this.#isClosed) return true;
    if (isFenced(error)) {
      // An answer, which other rules of the same store can rely on; this one is the failure policy's.
      this.breaker.succeed(ticket);
      return true;
    }
    this.#failures++;
    // A single stall fails everything that was sent before it was noticed. It counts once, however much that is:
    // otherwise a flood would turn each stall of the store into enough failures to open the breaker for all callers.
    if (ticket !== NO_TICKET && sentAfter === this.#counted) {
      this.#counted++;
      this.breaker.fail(ticket, error);
    }
    return true;
  }
}

/** A request that waits for its answer. */
interface Wait<Sent, Answer> {
  readonly request: Guarded<Sent, Answer>;
  readonly deadlines: Deadlines;
  readonly deadline: Deadline;
  readonly resolve: (answer: MaybePromise<Answer>) => void;
  readonly reject: (error: unknown) => void;
  /** {@link NO_TICKET} until it is sent: what happens before that says nothing about the store. */
  ticket: number;
  /** How many failures had counted when it was sent. */
  sentAfter: number;
}

/** A request that waits for room. */
interface Queued {
  readonly size: number;
  send(): void;
}

/** What stands in for an answer that does not come. A rejection if that is an error. */
export function answerInstead<Answer>(
  request: Guarded<unknown, Answer>,
  failure: unknown,
): MaybePromise<Answer> {
  try {
    return request.instead(failure);
  } catch (error) {
    return Promise.reject(error);
  }
}

function takeLate<Sent>(request: Guarded<Sent, unknown>, value: Sent): void {
  try {
    request.late(value);
  } catch {
    // The caller no longer waits, so nothing can be reported to it.
  }
}

function tooManyPending(): SluiceError {
  return new SluiceError("SLUICE_STORE_UNAVAILABLE", `${PENDING_MAX} requests wait for it already`);
}
