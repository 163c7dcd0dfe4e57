// Fingerprints of keys: HalfSipHash-1-3 with a 64-bit result and a random 64-bit seed. A keyed
// hash of this class is what keeps crafted keys from all meeting in one place of the table, and
// what leaves no key readable in memory. 1-3 is the usual choice of rounds inside hash tables.

// Taken off its prototype: once a program has loaded a class that extends String, as both Redis
// clients do, the engine looks `text.charCodeAt` up again for each character, four times as slow. Each file that needs it
// has this line: V8 inlines a constant of the same module, and an imported one is three times as slow again.
const { charCodeAt } = String.prototype;

/** Hashes strings; the result of the latest one is in `low` and `high`, to allocate nothing. */
export class KeyHash {
  /** The low 32 bits of the latest fingerprint, as a signed integer. */
  low = 0;
  /** The high 32 bits of the latest fingerprint. */
  high = 0;
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor(seed: { low: number; high: number }) {
    this.#seedLow = seed.low | 0;
    this.#seedHigh = seed.high | 0;
  }

  /** Hashes `text`: four characters a word while all are Latin-1, two a word otherwise. */
  hash(text: string): void {
    if (!this.#hashNarrow(text)) this.#hashWide(text);
  }

  #hashNarrow(text: string): boolean {
    const { length } = text;
    const whole = length & ~3;
    let v0 = this.#seedLow;
    let v1 = this.#seedHigh ^ LONG_OUTPUT;
    let v2 = INITIAL_2 ^ this.#seedLow;
    let v3 = INITIAL_3 ^ this.#seedHigh;
    let seen = 0;
    for (let i = 0; i < whole; i += 4) {
      const a = charCodeAt.call(text, i);
      const b = charCodeAt.call(text, i + 1);
      const c = charCodeAt.call(text, i + 2);
      const d = charCodeAt.call(text, i + 3);
      seen |= a | b | c | d;
      const word = a | (b << 8) | (c << 16) | (d << 24);
      v3 ^= word;
      // One round, written out: a call in this loop would double the time of a check.
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    // The last word holds what is left and the length, as the specification says.
    let word = length << 24;
    for (let i = whole, shift = 0; i < length; i++, shift += 8) {
      const code = charCodeAt.call(text, i);
      seen |= code;
      word |= code << shift;
    }
    if (seen > 0xff) return false;
    this.#finish(word, v0, v1, v2, v3);
    return true;
  }

  #hashWide(text: string): void {
    const { length } = text;
    let v0 = this.#seedLow;
    let v1 = this.#seedHigh ^ LONG_OUTPUT;
    let v2 = INITIAL_2 ^ this.#seedLow;
    // Another start than that of narrow strings, so that the two never hash alike.
    let v3 = INITIAL_3 ^ this.#seedHigh ^ WIDE;
    for (let i = 0; i < length; i += 2) {
      // Past the end charCodeAt is NaN, which counts as 0; the length below distinguishes them.
      const word = charCodeAt.call(text, i) | (charCodeAt.call(text, i + 1) << 16);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    this.#finish(length, v0, v1, v2, v3);
  }

  #finish(word: number, a: number, b: number, c: number, d: number): void {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = d ^ word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = ((v2 << 16) | (v2 >>> 16)) ^ LONG_OUTPUT;
    v0 ^= word;
    for (let output = 0; output < 2; output++) {
      for (let round = 0; round < 3; round++) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      this.low = this.high;
      this.high = v1 ^ v3;
      v1 ^= SECOND_OUTPUT;
    }
  }
}

// Constants of the HalfSipHash specification.
const INITIAL_2 = 0x6c796765;
const INITIAL_3 = 0x74656462;
const LONG_OUTPUT = 0xee;
const SECOND_OUTPUT = 0xdd;
// Ours: distinguishes the two ways of packing characters.
const WIDE = 0x5a5a5a5a;
