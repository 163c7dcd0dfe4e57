// Periods: time cut into pieces of one length, so that rates are told over the piece that runs and the one
// before. What is counted by period rolls on when it is next touched, and no timer is needed.

/** Pieces of time. */
export class Periods {
  readonly lengthMs: number;
  readonly #readMs: () => number;
  readonly #startMs: number;

  /** @param readMs - A monotonic reading, in milliseconds. */
  constructor(lengthMs: number, readMs: () => number) {
    this.lengthMs = lengthMs;
    this.#readMs = readMs;
    this.#startMs = readMs();
  }

  /** The number of the period that runs, from 0. */
  get current(): number {
    return Math.floor((this.#readMs() - this.#startMs) / this.lengthMs);
  }

  /** How long this period and the one before have lasted together, in seconds; at least one. */
  get seconds(): number {
    const elapsedMs = this.#readMs() - this.#startMs;
    const current = Math.floor(elapsedMs / this.lengthMs);
    return Math.max(1, (elapsedMs - Math.max(0, current - 1) * this.lengthMs) / 1_000);
  }
}
