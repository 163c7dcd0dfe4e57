// The time limit of one attempt. When it is over, the client stops waiting, and aborts the attempt's signal if it has one.

import { type CancelTimer, type Clock, startTimer, TIMER_MS_MAX } from "../base/clock.js";
import { SluiceError } from "../base/errors.js";
import { drop } from "../base/maybe-promise.js";

/** The time that one attempt has. */
export class AttemptLimit {
  readonly #controller: AbortController | undefined;
  readonly #limitMs: number;
  readonly #cancel: CancelTimer;
  #isOver = false;
  #giveUp: (() => void) | undefined;

  /** @param isAborted - Whether the attempt gets a signal, which is aborted when its time is over. */
  constructor(clock: Clock, limitMs: number, isAborted: boolean) {
    this.#limitMs = limitMs;
    this.#controller = isAborted ? new AbortController() : undefined;
    this.#cancel = startTimer(clock, Math.min(Math.max(0, limitMs), TIMER_MS_MAX), () => {
      this.#isOver = true;
      this.#controller?.abort();
      this.#giveUp?.();
    });
  }

  get signal(): AbortSignal | undefined {
    return this.#controller?.signal;
  }

  /** Whether the time is over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The response, unless the time is over before, whatever becomes of the signal. One that comes later is discarded. */
  race<R>(response: Promise<R>, discard: (late: R) => void): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => reject(new Error("the time of the attempt is over"));
      drop(response.then((found) => (this.#isOver ? discard(found) : resolve(found)), reject));
    });
  }

  /** The error of an attempt that ran out of time; otherwise the one that it failed with. */
  errorOf(error: unknown, origin: string): unknown {
    if (!this.#isOver) return error;
    const seen = `${origin} sent no response within ${Math.ceil(this.#limitMs)} ms`;
    return new SluiceError("SLUICE_CLIENT_DEADLINE", seen, { cause: error });
  }

  end(): void {
    this.#cancel();
  }
}
