// How many different keys came recently, without keeping any: a HyperLogLog of a kilobyte for the current period and
// one for the previous one, accurate to some three per cent.

import { FNV_START, fnv1a } from "sluice/internals";

const REGISTER_BITS = 10;
const REGISTERS = 2 ** REGISTER_BITS;
/** The constant of the estimator for this many registers. */
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);
/** Below this many registers' worth of keys, empty registers give a better estimate. */
const SMALL = 2.5 * REGISTERS;

/** Counts different keys. */
export class DistinctKeys {
  readonly #seed: number;
  #now = new Uint8Array(REGISTERS);
  #before = new Uint8Array(REGISTERS);

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Sees a key. Returns its hash, from 0 to below 2 ** 32. */
  add(key: string): number {
    const hash = hashText(key, this.#seed);
    const at = hash & (REGISTERS - 1);
    // Where the first one stands in the other 22 bits: each place further is half as likely.
    const rank = Math.clz32(hash >>> REGISTER_BITS) - REGISTER_BITS + 1;
    if (rank > this.#now[at]) this.#now[at] = rank;
    return hash;
  }

  /** Begins another period, or skips ahead by `periods`. What is older than the last period is forgotten. */
  roll(periods: number): void {
    [this.#before, this.#now] = [this.#now, this.#before];
    this.#now.fill(0);
    if (periods > 1) this.#before.fill(0);
  }

  /** How many keys came in this period and the last one. */
  get estimate(): number {
    let sum = 0;
    let empty = 0;
    for (let i = 0; i < REGISTERS; i++) {
      const rank = Math.max(this.#now[i], this.#before[i]);
      sum += 2 ** -rank;
      if (rank === 0) empty++;
    }
    const raw = (ALPHA * REGISTERS * REGISTERS) / sum;
    const isSmall = raw <= SMALL && empty > 0;
    return Math.round(isSmall ? REGISTERS * Math.log(REGISTERS / empty) : raw);
  }
}

/** A hash from 0 to below 2 ** 32. FNV-1a, finished as MurmurHash3 is so that every bit depends on every character. */
export function hashText(text: string, seed: number): number {
  let hash = stateAfter(text, seed) ^ FNV_START;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The seed that continues where a hash of `text` would: of what follows, it makes the hash of both together. */
export function stateAfter(text: string, seed: number): number {
  return fnv1a(text, seed ^ FNV_START) ^ FNV_START;
}
