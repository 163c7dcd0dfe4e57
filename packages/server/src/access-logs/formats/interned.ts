// What bytes of lines stand for, made once: most lines have an address and a request that lines before them had. A fixed
// number is remembered, with their bytes side by side in one array: a look-up that misses the processor's cache at every
// step would cost more than it saves. The newest takes the place of another one.

/** Slots of a set: values that meet in one set rarely displace each other. */
const WAYS = 4;
/** Words of a slot before its bytes: their hash, and how many there are, 0 in a free slot. */
const HEAD_WORDS = 2;
const WORD_BYTES = 4;
/** By what FNV-1a multiplies. */
const HASH_FACTOR = 0x01000193;
const HASH_START = 0x811c9dc5;

/** How much is remembered. */
export interface InternedShape {
  /** Sets of four values: a power of two. */
  readonly sets: number;
  /** Bytes of the longest that is remembered. */
  readonly bytesMax: number;
}

/** Values by the bytes that they were made of. */
export class Interned<T> {
  readonly #make: (bytes: Buffer, from: number, to: number) => T;
  readonly #sets: number;
  readonly #bytesMax: number;
  readonly #slotWords: number;
  readonly #words: Int32Array;
  readonly #values: (T | undefined)[];
  #way = 0;

  constructor(
    { sets, bytesMax }: InternedShape,
    make: (bytes: Buffer, from: number, to: number) => T,
  ) {
    this.#make = make;
    this.#sets = sets;
    this.#bytesMax = bytesMax;
    this.#slotWords = HEAD_WORDS + Math.ceil(bytesMax / WORD_BYTES);
    this.#words = new Int32Array(sets * WAYS * this.#slotWords);
    this.#values = new Array<T | undefined>(sets * WAYS).fill(undefined);
  }

  /** The value of bytes, which `view` is over. */
  get(bytes: Buffer, view: DataView, from: number, to: number): T {
    const length = to - from;
    if (length < WORD_BYTES || length > this.#bytesMax) return this.#make(bytes, from, to);
    const hash = hashOf(view, from, to);
    const first = ((hash ^ (hash >>> 15)) & (this.#sets - 1)) * WAYS;
    const words = this.#words;
    for (let slot = first; slot < first + WAYS; slot++) {
      const start = slot * this.#slotWords;
      if (words[start] !== hash || words[start + 1] !== length) continue;
      if (isAt(words, start + HEAD_WORDS, view, from, to)) return this.#values[slot] as T;
    }
    const value = this.#make(bytes, from, to);
    this.#keep(this.#slotIn(first), view, from, to, hash, value);
    return value;
  }

  #keep(slot: number, view: DataView, from: number, to: number, hash: number, value: T): void {
    const start = slot * this.#slotWords;
    const words = this.#words;
    words[start] = hash;
    words[start + 1] = to - from;
    let word = start + HEAD_WORDS;
    for (let at = from; at < to; at += WORD_BYTES) words[word++] = wordAt(view, at, to);
    this.#values[slot] = value;
  }

  /** A free slot of a set; else one after the other. */
  #slotIn(first: number): number {
    for (let slot = first; slot < first + WAYS; slot++)
      if (this.#words[slot * this.#slotWords + 1] === 0) return slot;
    this.#way = (this.#way + 1) % WAYS;
    return first + this.#way;
  }
}

/** Four bytes from `at`. The last word of at least four bytes overlaps the one before it. */
function wordAt(view: DataView, at: number, to: number): number {
  return view.getInt32(at + WORD_BYTES <= to ? at : to - WORD_BYTES, true);
}

/** FNV-1a by words instead of bytes, mixed so that each word reaches all bits. */
function hashOf(view: DataView, from: number, to: number): number {
  let hash = HASH_START ^ (to - from);
  for (let at = from; at < to; at += WORD_BYTES) {
    hash = Math.imul(hash ^ wordAt(view, at, to), HASH_FACTOR);
    hash ^= hash >>> 13;
  }
  return hash;
}

function isAt(words: Int32Array, start: number, view: DataView, from: number, to: number): boolean {
  let word = start;
  for (let at = from; at < to; at += WORD_BYTES)
    if (words[word++] !== wordAt(view, at, to)) return false;
  return true;
}
