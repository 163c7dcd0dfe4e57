// When the requests that wait for one origin are looked at again: by a timer, or at the end of this turn of the event loop.

import {
  atEndOfTurn,
  type CancelTimer,
  type Clock,
  startRefTimer,
  TIMER_MS_MAX,
} from "../../base/clock.js";

/** The end of a turn of the event loop, for all who wait for the same one. */
export class TurnEnd {
  #reached: Promise<void> | undefined;

  /** Resolves at the end of this turn. */
  get reached(): Promise<void> {
    this.#reached ??= new Promise((resolve) =>
      atEndOfTurn(() => {
        this.#reached = undefined;
        resolve();
      }),
    );
    return this.#reached;
  }
}

/** The next time at which requests that wait may be sent. */
export class NextAdmission {
  readonly #clock: Clock;
  readonly #admit: () => void;
  #isSoon = false;
  #cancelTimer: CancelTimer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, admit: () => void) {
    this.#clock = clock;
    this.#admit = admit;
  }

  /** Whether it is at the end of this turn. */
  get isSoon(): boolean {
    return this.#isSoon;
  }

  /**
   * At the end of this turn of the event loop, by when other responses have arrived: requests that are sent together cost
   * less processor time than those that are sent one by one, between responses (`client/overhead`).
   */
  soon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    atEndOfTurn(() => {
      this.#isSoon = false;
      this.#admit();
    });
  }

  /** After `delayMs`, unless it is sooner already. */
  after(delayMs: number, nowMs: number): void {
    if (delayMs > TIMER_MS_MAX || nowMs + delayMs >= this.#timerAtMs) return;
    this.cancel();
    this.#timerAtMs = nowMs + delayMs;
    this.#cancelTimer = startRefTimer(this.#clock, delayMs, () => {
      this.cancel();
      this.#admit();
    });
  }

  /** Stops the timer, which would keep the process alive. */
  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }
}
