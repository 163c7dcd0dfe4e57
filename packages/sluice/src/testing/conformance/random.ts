// Chance that repeats: the same seed draws the same numbers on every machine. Not for secrets.

import { fnv1a } from "../../base/fnv1a.js";

/** A small generator (mulberry32), seeded by a string. */
export class SeededRandom {
  #state: number;

  constructor(seed: string) {
    this.#state = fnv1a(seed);
  }

  /** A fraction from 0 to below 1. */
  fraction(): number {
    // Two draws make 53 bits, so that a span of years is drawn to the millisecond.
    return ((this.#next() >>> 5) * 2 ** 26 + (this.#next() >>> 6)) / 2 ** 53;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** One of a list. */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)];
  }

  /** True in that share of the draws. */
  chance(share: number): boolean {
    return this.fraction() < share;
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}
