// Fingerprints of secrets that were verified: a SHA-256 of each request's key would cost more than its decision. The
// function is drawn at random when the process starts and never shown, and two different secrets have the same
// fingerprint with a chance of 2^-62, whatever they are: a linear form over a prime field, twice. It is no more than a
// memory of a verification, and is never stored.

import type { FillRandom } from "../secret-format.js";

/** 2^31 - 1. */
const PRIME = 0x7fffffff;
const ASCII_MAX = 0x7f;

/** Makes fingerprints of the characters of a string from one place to another. */
export class KeyFingerprint {
  readonly #from: number;
  readonly #to: number;
  /** For each pair of characters one factor of either form. */
  readonly #factors: Float64Array;
  /** Of the latest string. Never both 0, which stands for none. */
  low = 0;
  high = 0;

  /** @param range - An even number of characters, at most 64: sums stay exact. */
  constructor(range: { readonly from: number; readonly to: number }, fillRandom: FillRandom) {
    this.#from = range.from;
    this.#to = range.to;
    const words = new Uint32Array(range.to - range.from);
    fillRandom(new Uint8Array(words.buffer));
    this.#factors = Float64Array.from(words, (word) => word % PRIME);
  }

  /** Sets `low` and `high`. Returns false if the string has a character that no secret has. */
  read(text: string): boolean {
    const factors = this.#factors;
    let low = 0;
    let high = 0;
    let seen = 0;
    for (let at = this.#from, i = 0; at < this.#to; at += 2, i += 2) {
      const first = text.charCodeAt(at);
      const second = text.charCodeAt(at + 1);
      seen |= first | second;
      const pair = (first << 7) | second;
      low += (factors[i] as number) * pair;
      high += (factors[i + 1] as number) * pair;
    }
    this.low = low % PRIME;
    // One bit of the rest says that there is a fingerprint.
    this.high = ((high % PRIME) | 0x80000000) >>> 0;
    return seen <= ASCII_MAX;
  }
}
