// What bytes of lines stand for, made once: most lines have an address and a request that lines before them had. Bytes are
// kept side by side in one array, and found by their hash in another: a look-up that misses the processor's cache at every
// step would cost more than it saves. When there is no room for more, everything is forgotten.

const WORD_BYTES = 4;
/** Longer ones are made each time: they rarely come again. */
const LENGTH_MAX = 128;
/** Slots that are looked at: a client can choose bytes whose hashes are the same. */
const PROBES_MAX = 8;
/** The factor of FNV-1a, and the hash that it starts with. */
const HASH_FACTOR = 0x01000193;
const HASH_START = 0x811c9dc5;

/** Values by the bytes that they were made of. */
export class Interned<T> {
  readonly #make: (bytes: Buffer, from: number, to: number) => T;
  readonly #valuesMax: number;
  /** Pairs of a hash and the number of a value, from 1 on; 0 in a free slot. A quarter of the slots is used at most. */
  readonly #slots: Int32Array;
  readonly #values: T[] = [];
  /** Where the bytes of each value end; those of the next begin there. */
  readonly #ends: Uint32Array;
  readonly #kept: DataView;

  /** @param valuesMax - How many values are remembered: a power of two. Their bytes have room for 32 each. */
  constructor(valuesMax: number, make: (bytes: Buffer, from: number, to: number) => T) {
    this.#make = make;
    this.#valuesMax = valuesMax;
    this.#slots = new Int32Array(valuesMax * 8);
    this.#ends = new Uint32Array(valuesMax + 1);
    this.#kept = new DataView(new ArrayBuffer(valuesMax * 32 + LENGTH_MAX));
  }

  /** The value of bytes, which `view` is over. */
  get(bytes: Buffer, view: DataView, from: number, to: number): T {
    if (to - from < WORD_BYTES || to - from > LENGTH_MAX) return this.#make(bytes, from, to);
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = hashOf(view, from, to);
    let slot = ((hash ^ (hash >>> 15)) << 1) & mask;
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const number = slots[slot + 1];
      if (number === 0) return this.#meet(bytes, from, to, slot, hash);
      if (slots[slot] === hash && this.#isAt(number, view, from, to))
        return this.#values[number - 1];
      slot = (slot + 2) & mask;
    }
    return this.#make(bytes, from, to);
  }

  #isAt(number: number, view: DataView, from: number, to: number): boolean {
    const kept = this.#kept;
    const start = this.#ends[number - 1];
    if (this.#ends[number] - start !== to - from) return false;
    const last = to - WORD_BYTES;
    const offset = start - from;
    for (let at = from; at < last; at += WORD_BYTES)
      if (kept.getInt32(at + offset, true) !== view.getInt32(at, true)) return false;
    return kept.getInt32(last + offset, true) === view.getInt32(last, true);
  }

  #meet(bytes: Buffer, from: number, to: number, slot: number, hash: number): T {
    const value = this.#make(bytes, from, to);
    const start = this.#ends[this.#values.length];
    if (this.#values.length === this.#valuesMax || start + to - from > this.#kept.byteLength) {
      this.#forget();
      return value;
    }
    for (let at = from; at < to; at++) this.#kept.setUint8(start + at - from, bytes[at]);
    const number = this.#values.push(value);
    this.#ends[number] = start + to - from;
    this.#slots[slot] = hash;
    this.#slots[slot + 1] = number;
    return value;
  }

  #forget(): void {
    this.#slots.fill(0);
    this.#values.length = 0;
  }
}

/** FNV-1a by words instead of bytes, mixed so that each word reaches all bits. The last word may overlap the one before. */
function hashOf(view: DataView, from: number, to: number): number {
  let hash = HASH_START ^ (to - from);
  const last = to - WORD_BYTES;
  for (let at = from; at < last; at += WORD_BYTES) {
    hash = Math.imul(hash ^ view.getInt32(at, true), HASH_FACTOR);
    hash ^= hash >>> 13;
  }
  hash = Math.imul(hash ^ view.getInt32(last, true), HASH_FACTOR);
  return hash ^ (hash >>> 13);
}
