// Who asks: a few callers ask very often, and very many ask rarely, as with the users of any public API.

import type { Random } from "./random.js";

/** Callers of whom the nth asks n^-exponent times as often as the first. */
export class Zipf {
  readonly #random: Random;
  readonly #count: number;
  readonly #power: number;
  readonly #spread: number;

  /** @param exponent - Above 0 and not 1; traffic of public APIs has about 1.1. */
  constructor(random: Random, count: number, exponent: number) {
    if (!(exponent > 0) || exponent === 1)
      throw new RangeError(`the exponent must be above 0 and not 1, got ${exponent}`);
    this.#random = random;
    this.#count = count;
    this.#power = 1 - exponent;
    this.#spread = (count + 1) ** this.#power - 1;
  }

  /** A caller, 0 being the busiest. The distribution is the continuous one, rounded down. */
  next(): number {
    const rank = (this.#random.fraction() * this.#spread + 1) ** (1 / this.#power);
    return Math.min(this.#count, Math.floor(rank)) - 1;
  }
}
