// Periods: time divided into spans of one length, so that rates are measured over the current span and the one
// before. Counts move on to the next period when they are next touched, so no timer is needed.

/** Pieces of time. */
export class Periods {
  readonly lengthMs: number;
  readonly #readMs: () => number;
  readonly #startMs: number;
  /** The period that was found last, and its end: most readings are of the same. */
  #number = 0;
  #endMs: number;

  /** @param readMs - A monotonic reading, in milliseconds. */
  constructor(lengthMs: number, readMs: () => number) {
    this.lengthMs = lengthMs;
    this.#readMs = readMs;
    this.#startMs = readMs();
    this.#endMs = this.#startMs + lengthMs;
  }

  /** The number of the period that runs, from 0. */
  get current(): number {
    return this.at(this.#readMs());
  }

  /** The number of the period at a reading of the same clock. */
  at(nowMs: number): number {
    if (nowMs >= this.#endMs || nowMs < this.#endMs - this.lengthMs) {
      this.#number = Math.floor((nowMs - this.#startMs) / this.lengthMs);
      this.#endMs = this.#startMs + (this.#number + 1) * this.lengthMs;
    }
    return this.#number;
  }

  /** How long this period and the one before have lasted together, in seconds; at least one. */
  get seconds(): number {
    const elapsedMs = this.#readMs() - this.#startMs;
    const current = Math.floor(elapsedMs / this.lengthMs);
    return Math.max(1, (elapsedMs - Math.max(0, current - 1) * this.lengthMs) / 1_000);
  }
}
