// Random numbers of a simulation: all of them come from one seed, so that a run can be repeated exactly. Each part of a
// simulation has numbers of its own, so that one part asking for more does not change those of another.

import { fnv1a } from "sluice/internals";

/** A generator with 128 bits of state (sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  /** @param seed - Any number or name; the same one yields the same numbers. */
  constructor(seed: number | string) {
    const [a, b, c] = hashesOf(`${seed}`);
    this.#a = a;
    this.#b = b;
    this.#c = c;
    // The first numbers still show the seed.
    for (let i = 0; i < 12; i++) this.next();
  }

  /** A whole number from 0 to 2^32, exclusive. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** From 0 to 1, exclusive. */
  fraction(): number {
    return this.next() / 2 ** 32;
  }

  /** A whole number from 0 to `countMax`, exclusive. */
  below(countMax: number): number {
    return Math.floor(this.fraction() * countMax);
  }

  /** A number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  /** How many arrivals there are where `mean` are expected. */
  poisson(mean: number): number {
    // Beyond some dozens the normal distribution is as good, and takes the same time for any mean.
    if (mean > 60) return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()));
    const floor = Math.exp(-mean);
    let count = 0;
    for (let product = this.fraction(); product > floor; product *= this.fraction()) count++;
    return count;
  }

  /** A number of the normal distribution with mean 0 and standard deviation 1. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()));
    return radius * Math.cos(2 * Math.PI * this.fraction());
  }
}

/** Three numbers of 32 bits from a string (FNV-1a, with three starts). */
function hashesOf(text: string): [number, number, number] {
  return [fnv1a(text), fnv1a(text, 0x3ad8025f), fnv1a(text, 0x7f4a7c15)];
}
