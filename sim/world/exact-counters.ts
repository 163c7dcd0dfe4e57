// Limits counted exactly, in arrays with a place for each caller. They are written apart from the library's algorithms, so
// that a defect of those shows.

import type { Limit } from "sluice";

/** One limit of every caller, counted exactly. */
export interface ExactCounter {
  /** Charges a unit, whatever is left. Returns by how many units the caller is then above the limit; 0 if it is not. */
  charge(caller: number, atMs: number): number;
  hasRoom(caller: number, atMs: number): boolean;
  /** The caller's units in use. */
  used(caller: number, atMs: number): number;
}

/** The exact counter of a limit. */
export function toExactCounter(limit: Limit, callers: number): ExactCounter {
  switch (limit.algorithm) {
    case "tokenBucket": {
      const { amount, everyMs } = limit.refill;
      return new ExactBucket(limit.capacity, amount / everyMs, callers);
    }
    case "fixedWindow":
      return new ExactWindow(limit.capacity, limit.windowMs, callers);
    default:
      throw new RangeError(
        `the truth knows token buckets and fixed windows, not ${limit.algorithm}`,
      );
  }
}

/** Differences below this are the rounding of a quotient, not units. */
const UNITS_ERROR_MAX = 1e-6;

class ExactBucket implements ExactCounter {
  readonly #capacity: number;
  readonly #unitsPerMs: number;
  /** Units in use, and when. */
  readonly #used: Float64Array;
  readonly #atMs: Float64Array;

  constructor(capacity: number, unitsPerMs: number, callers: number) {
    this.#capacity = capacity;
    this.#unitsPerMs = unitsPerMs;
    this.#used = new Float64Array(callers);
    this.#atMs = new Float64Array(callers);
  }

  charge(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    this.#used[caller]++;
    const above = this.#used[caller] - this.#capacity;
    return above > UNITS_ERROR_MAX ? above : 0;
  }

  hasRoom(caller: number, atMs: number): boolean {
    this.#advance(caller, atMs);
    return this.#used[caller] + 1 <= this.#capacity + UNITS_ERROR_MAX;
  }

  used(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    return this.#used[caller];
  }

  #advance(caller: number, atMs: number): void {
    const refilled = (atMs - this.#atMs[caller]) * this.#unitsPerMs;
    this.#used[caller] = Math.max(0, this.#used[caller] - refilled);
    this.#atMs[caller] = atMs;
  }
}

class ExactWindow implements ExactCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #window: Float64Array;
  readonly #used: Uint32Array;

  constructor(limit: number, windowMs: number, callers: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#window = new Float64Array(callers);
    this.#used = new Uint32Array(callers);
  }

  charge(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    return Math.max(0, ++this.#used[caller] - this.#limit);
  }

  hasRoom(caller: number, atMs: number): boolean {
    this.#advance(caller, atMs);
    return this.#used[caller] < this.#limit;
  }

  used(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    return this.#used[caller];
  }

  #advance(caller: number, atMs: number): void {
    const window = Math.floor(atMs / this.#windowMs);
    if (window === this.#window[caller]) return;
    this.#window[caller] = window;
    this.#used[caller] = 0;
  }
}
