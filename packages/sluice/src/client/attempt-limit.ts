// The time limit of one attempt. When it is over, the attempt's signal is aborted; the client stops waiting for an attempt
// without a signal.

import { type CancelTimer, type Clock, startTimer } from "../base/clock.js";
import { SluiceError } from "../base/errors.js";

/** The longest time that the system's timers can hold. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The time that one attempt has. */
export class AttemptLimit {
  readonly #controller: AbortController | undefined;
  readonly #limitMs: number;
  readonly #cancel: CancelTimer;
  #isOver = false;
  #giveUp: (() => void) | undefined;
  #unsettled: Promise<unknown> | undefined;

  /** @param isAborted - Whether it has a signal, which is aborted when the time is over. */
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

  /** The response that may still come although the time is over; undefined if the attempt has ended. */
  get late(): Promise<unknown> | undefined {
    return this.#isOver ? this.#unsettled : undefined;
  }

  /** The response, unless the time is over before. One that comes later is dropped. */
  race<R>(response: Promise<R>, drop: (late: R) => void): Promise<R> {
    if (this.#controller !== undefined) return response;
    return new Promise((resolve, reject) => {
      this.#giveUp = () => {
        this.#unsettled = settled;
        reject(new Error("the time of the attempt is over"));
      };
      const settled = response.then(
        (found) => (this.#isOver ? drop(found) : resolve(found)),
        reject,
      );
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
