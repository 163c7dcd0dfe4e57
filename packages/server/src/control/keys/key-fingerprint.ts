// Fingerprints of secrets that were verified: a SHA-256 of each request's key would cost more than its decision. The
// function is drawn at random when the process starts and never shown, and two different secrets have the same
// fingerprint with a chance of 2^-62, whatever they are: a linear form over a prime field, twice. It is no more than a
// memory of a verification, and is never stored.

import type { FillRandom } from "../secret-format.js";

// As in key-columns.ts.
const { charCodeAt } = String.prototype;

/** 2^31 - 1. */
const PRIME = 0x7fffffff;
const INVERSE = 1 / PRIME;
const ASCII_MAX = 0x7f;

/** Makes fingerprints of strings of one length. */
export class KeyFingerprint {
  readonly #length: number;
  /** For each pair of characters one factor of either form. */
  readonly #factors: Float64Array;
  /** The fingerprint of the latest string. Never both 0, which means none. */
  low = 0;
  high = 0;

  /** @param length - Of the strings: even, at most 64, so that sums stay exact. */
  constructor(length: number, fillRandom: FillRandom) {
    this.#length = length;
    const words = new Uint32Array(length);
    fillRandom(new Uint8Array(words.buffer));
    this.#factors = Float64Array.from(words, (word) => word % PRIME);
  }

  /** Sets `low` and `high`. Returns false if the string has a character that no secret has. */
  read(text: string): boolean {
    const factors = this.#factors;
    let low = 0;
    let high = 0;
    let seen = 0;
    for (let i = 0; i < this.#length; i += 2) {
      const first = charCodeAt.call(text, i);
      const second = charCodeAt.call(text, i + 1);
      seen |= first | second;
      const pair = (first << 7) | second;
      low += (factors[i] as number) * pair;
      high += (factors[i + 1] as number) * pair;
    }
    this.low = restOf(low);
    // One bit says that there is a fingerprint.
    this.high = (restOf(high) | 0x80000000) >>> 0;
    return seen <= ASCII_MAX;
  }
}

/** By multiplication: the remainder of a number beyond 32 bits takes longer than all the rest. */
function restOf(sum: number): number {
  const rest = sum - Math.floor(sum * INVERSE) * PRIME;
  return (rest < 0 ? rest + PRIME : rest >= PRIME ? rest - PRIME : rest) >>> 0;
}
