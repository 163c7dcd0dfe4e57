// What a table knows of its sets without looking at them: how many slots of each are taken, and which
// keys it sent on to another set. Two bytes a set stay in the cache where the slots do not, so a new
// key is placed, and mostly known to be new, without waiting for a second set.

/** The lower bits count; the others are a filter of the keys that were sent on. */
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

  /** How many slots of the set are taken, the first ones. */
  takenIn(set: number): number {
    return this.#notes[set] & COUNT_MASK;
  }

  /** One more slot is taken: returns its place in the set. */
  take(set: number): number {
    return this.#notes[set]++ & COUNT_MASK;
  }

  /** The last taken slot is free again: returns its place in the set. */
  free(set: number): number {
    return --this.#notes[set] & COUNT_MASK;
  }

  /** Notes that the key with this fingerprint belongs to the set and is elsewhere. */
  sendOn(set: number, high: number): void {
    this.#notes[set] |= filterBit(high);
  }

  /** False if the key is certainly not elsewhere. */
  maySentOn(set: number, high: number): boolean {
    return (this.#notes[set] & filterBit(high)) !== 0;
  }
}

// By lower bits of the fingerprint than those that choose a set of the front.
function filterBit(high: number): number {
  return 1 << (COUNT_BITS + (((high & 0xffff) * FILTER_BITS) >>> 16));
}
