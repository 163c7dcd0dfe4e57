// What stands between a request and a store that may fail: a breaker that leaves a failing store
// alone, and a deadline for every answer. It knows nothing of policies: each request brings along
// what is answered instead.

import type { Clock } from "../../clock.js";
import { SluiceError } from "../../errors.js";
import { isThenable, type MaybePromise } from "../../maybe-promise.js";
import { Breaker, type BreakerOptions, NO_TICKET } from "./breaker.js";
import { type Deadlines, PENDING_MAX } from "./deadlines.js";
import { isMisuse } from "./store-failure.js";

/** A request to a store: `Sent` is what the store answers, `Answer` what the caller gets. */
export abstract class Guarded<Sent, Answer> {
  /** Whether the caller has gone on with what was answered instead. */
  isOver = false;
  /** Asks the store. May throw. */
  abstract send(): MaybePromise<Sent>;
  /** What the caller gets of an answer that came in time. */
  abstract accept(sent: Sent): Answer;
  /** What the caller gets if the store does not answer. May throw. */
  abstract instead(failure: unknown): Answer;
  /** Takes note of an answer that came too late. What it throws is lost. */
  late(_sent: Sent): void {}
}

/** What a guard is made of. */
export interface GuardOptions extends BreakerOptions {
  readonly clock: Clock;
  /** Called after each answer that came in time. */
  readonly onAnswer: () => void;
}

/** Lets requests through to a store, or has them answered without it. */
export class Guard {
  readonly breaker: Breaker;
  readonly #onAnswer: () => void;
  #failures = 0;
  #isClosed = false;

  constructor(options: GuardOptions) {
    this.breaker = new Breaker(options);
    this.#onAnswer = options.onAnswer;
  }

  /** Requests that the store failed or did not answer in time. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The store's answer, or what the request says instead. At once where the store answers at once or
   * is left alone; a failure is always a rejection, misuse is thrown as the store threw it.
   */
  ask<Sent, Answer>(request: Guarded<Sent, Answer>, deadlines: Deadlines): MaybePromise<Answer> {
    if (deadlines.isFull) return answerInstead(request, tooManyPending());
    const ticket = this.breaker.ask();
    if (ticket === NO_TICKET) return answerInstead(request, this.breaker.failure);
    let answer: Answer;
    try {
      const sent = request.send();
      if (isThenable(sent)) return this.#wait(request, sent, ticket, deadlines);
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
    sent: Promise<Sent>,
    ticket: number,
    deadlines: Deadlines,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        if (this.#isFailure(ticket, error)) resolve(answerInstead(request, error));
        else reject(error);
      };
      const deadline = deadlines.add((failure) => {
        request.isOver = true;
        fail(failure);
      });
      const take = (value: Sent) => {
        if (!deadlines.end(deadline)) return takeLate(request, value);
        try {
          resolve(request.accept(value));
        } catch (error) {
          // Not what a store may answer: nobody must be left waiting for it.
          return fail(error);
        }
        this.#succeed(ticket);
      };
      Promise.resolve(sent).then(take, (error: unknown) => {
        // Of an error that comes late nobody has to know any more.
        if (deadlines.end(deadline)) fail(error);
      });
    });
  }

  #succeed(ticket: number): void {
    this.breaker.succeed(ticket);
    this.#onAnswer();
  }

  #isFailure(ticket: number, error: unknown): boolean {
    if (isMisuse(error)) {
      this.breaker.giveUp(ticket);
      return false;
    }
    if (this.#isClosed) return true;
    this.#failures++;
    this.breaker.fail(ticket, error);
    return true;
  }
}

function answerInstead<Answer>(
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
    // The caller is long gone: there is nobody to tell.
  }
}

function tooManyPending(): SluiceError {
  return new SluiceError("SLUICE_STORE_UNAVAILABLE", `${PENDING_MAX} requests wait for it already`);
}
