// What a table knows of its sets without looking at them: how many slots of each are taken, and which
// keys overflowed to another set. Two bytes for each set stay in the cache where the slots do not, so a new
// key is placed, and mostly known to be new, without a cache miss in a second set.

/** The lower bits count the taken slots; the others are a filter of the keys that overflowed. */
const COUNT_BITS = 4;
const COUNT_MASK = 2 ** COUNT_BITS - 1;
const FILTER_BITS = 16 - COUNT_BITS;

export class SetNotes {
  readonly #notes: Uint16Array;

  constructor(sets: number) {
    this.#notes = new Uint16Array(sets);
  }

  get bytes(): number {
    return this.#notes.byteLength;
  }

  /** How many slots of the set are taken. These are always its first ones. */
  takenIn(set: number): number {
    return this.#notes[set] & COUNT_MASK;
  }

  /** Takes one more slot and returns its place in the set. */
  take(set: number): number {
    return this.#notes[set]++ & COUNT_MASK;
  }

  /** Frees the last taken slot and returns its place in the set. */
  free(set: number): number {
    return --this.#notes[set] & COUNT_MASK;
  }

  /** Notes that the key with this fingerprint belongs to the set, but is in another one. */
  noteOverflow(set: number, high: number): void {
    this.#notes[set] |= filterBit(high);
  }

  /** Whether the key may be in another set; false if it is certainly not. */
  mayHaveOverflowed(set: number, high: number): boolean {
    return (this.#notes[set] & filterBit(high)) !== 0;
  }
}

// Chosen by the low 16 bits of the fingerprint; the high ones choose a set of the front.
function filterBit(high: number): number {
  return 1 << (COUNT_BITS + (((high & 0xffff) * FILTER_BITS) >>> 16));
}
