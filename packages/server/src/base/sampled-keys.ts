// Distinct keys in bounded memory: all of them as long as there is room, then a uniform sample. Keys are sampled by their
// hash, so that each key of the sample has been seen from its first time on. When the table is full, half of the range
// of hashes is given up, and with it half of the keys. The hash is salted: otherwise a client could choose which of the
// keys that it writes into a log are in the sample.

import { spreadHash } from "sluice/internals";

const HASHES = 2 ** 32;
/** Another start, so that the second half of a hash does not follow from the first. */
const PRINT_SALT = 0x9e3779b9;

/** A sample of distinct keys, with columns of numbers beside them. */
export class SampledKeys {
  readonly #keysMax: number;
  readonly #salt: number;
  readonly #slots: number;
  #hashes: Uint32Array;
  /** The second half of each hash; 0 for a slot that is free. */
  #prints: Uint32Array;
  readonly #columns: Uint32Array[];
  #below = HASHES;
  #count = 0;

  /**
   * @param keysMax - The most keys in the sample.
   * @param salt - A whole number, random where keys come from outside.
   * @param columns - How many numbers are kept for each key, whole ones below 2^32 and 0 at first; default none.
   */
  constructor(keysMax: number, salt: number, columns = 0) {
    this.#keysMax = keysMax;
    this.#salt = salt;
    this.#slots = 2 ** Math.ceil(Math.log2(keysMax * 1.5));
    this.#hashes = new Uint32Array(this.#slots);
    this.#prints = new Uint32Array(this.#slots);
    this.#columns = Array.from({ length: columns }, () => new Uint32Array(this.#slots));
  }

  /** Keys in the sample. */
  get count(): number {
    return this.#count;
  }

  /** The share of all keys that is in the sample, about: 1 if all are. */
  get share(): number {
    return this.#below / HASHES;
  }

  /** How many distinct keys there were: exact while all are in the sample. */
  get estimate(): number {
    return Math.round(this.#count / this.share);
  }

  /** The numbers of one column, by the places of keys. It may be another one after a call of `placeOf`. */
  column(at: number): Uint32Array {
    return this.#columns[at];
  }

  /** The place of a key, which is added if it is new; -1 if it is not in the sample. */
  placeOf(key: string): number {
    const hash = spreadHash(key, this.#salt);
    if (hash >= this.#below) return -1;
    const print = spreadHash(key, this.#salt ^ PRINT_SALT) || 1;
    const place = find(this.#hashes, this.#prints, hash, print);
    if (this.#prints[place] !== 0) return place;
    if (this.#count >= this.#keysMax) {
      this.#halve();
      return this.placeOf(key);
    }
    this.#hashes[place] = hash;
    this.#prints[place] = print;
    this.#count++;
    return place;
  }

  /** The places of all keys in the sample. */
  *places(): Generator<number> {
    for (let place = 0; place < this.#slots; place++) if (this.#prints[place] !== 0) yield place;
  }

  #halve(): void {
    this.#below /= 2;
    const [hashes, prints] = [this.#hashes, this.#prints];
    const columns = [...this.#columns];
    this.#hashes = new Uint32Array(this.#slots);
    this.#prints = new Uint32Array(this.#slots);
    for (const [at, column] of columns.entries())
      this.#columns[at] = new Uint32Array(column.length);
    this.#count = 0;
    for (let from = 0; from < this.#slots; from++) {
      if (prints[from] === 0 || hashes[from] >= this.#below) continue;
      const to = find(this.#hashes, this.#prints, hashes[from], prints[from]);
      this.#hashes[to] = hashes[from];
      this.#prints[to] = prints[from];
      for (const [at, column] of columns.entries()) this.#columns[at][to] = column[from];
      this.#count++;
    }
  }
}

/** Where a key is, or the free slot where it would be. A third of all slots stay free. */
function find(hashes: Uint32Array, prints: Uint32Array, hash: number, print: number): number {
  const mask = hashes.length - 1;
  let place = print & mask;
  while (prints[place] !== 0 && (prints[place] !== print || hashes[place] !== hash)) {
    place = (place + 1) & mask;
  }
  return place;
}
