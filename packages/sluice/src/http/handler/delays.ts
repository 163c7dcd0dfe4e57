// Where delayed requests wait: on one timer of the clock, up to a maximum number of requests.

import { type CancelTimer, type Clock, startTimer } from "../../base/clock.js";

/** Counts the requests that wait. */
export class WaitingRoom {
  readonly #clock: Clock;
  readonly #delayedMax: number;
  #waiting = 0;

  constructor(clock: Clock, delayedMax: number) {
    this.#clock = clock;
    this.#delayedMax = delayedMax;
  }

  /** How many wait now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Begins a wait; undefined if there is no room. */
  enter(delayMs: number): Wait | undefined {
    if (this.#waiting >= this.#delayedMax) return undefined;
    this.#waiting++;
    return new Wait(this.#clock, delayMs, () => {
      this.#waiting--;
    });
  }
}

/** One request that waits. */
export class Wait {
  /** True when the time is over, false if the wait was stopped before. Never rejects. */
  readonly over: Promise<boolean>;
  #end: ((isOver: boolean) => void) | undefined;
  readonly #cancelTimer: CancelTimer;

  constructor(clock: Clock, delayMs: number, onEnd: () => void) {
    this.over = new Promise((resolve) => {
      this.#end = (isOver) => {
        this.#end = undefined;
        onEnd();
        resolve(isOver);
      };
    });
    this.#cancelTimer = startTimer(clock, delayMs, () => this.#end?.(true));
  }

  /** Stops waiting; false if the wait is already over. */
  stop(): boolean {
    if (this.#end === undefined) return false;
    this.#cancelTimer();
    this.#end(false);
    return true;
  }
}
