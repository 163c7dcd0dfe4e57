// The clock of leases, read at most once a millisecond. Reading it would take a third of a decision, and the limiter
// has just read its own clock: while that one shows the same time, the last reading is used again.

import type { Clock } from "../../../base/clock.js";

/** A time that a caller passes again and again holds a reading for at most this many decisions. */
const USES_MAX = 256;

/** The latest reading of a clock. */
export class MillisecondClock {
  readonly #clock: Clock;
  #atMs = 0;
  #limiterMs: number = Number.NaN;
  #uses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Now, for a decision at `limiterMs` by the limiter's own clock. */
  at(limiterMs: number): number {
    if (limiterMs !== this.#limiterMs || ++this.#uses >= USES_MAX) {
      this.#atMs = this.#clock.now();
      this.#limiterMs = limiterMs;
      this.#uses = 0;
    }
    return this.#atMs;
  }

  /** The next decision reads the clock, whatever the limiter's shows. */
  end(): void {
    this.#limiterMs = Number.NaN;
  }
}
