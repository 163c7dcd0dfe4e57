// A table of fixed size, set-associative with two choices, in one typed array: no key strings, no
// objects, no timers. A slot is a 64-bit tag (48 bits of the key's fingerprint and a 16-bit id of
// the limit that wrote it) and one to three doubles of state. Each fingerprint has two sets of
// eight slots; with the emptier one chosen, 98% of the slots can be live before any is given up.

const WAYS = 8;
/** Slots for each key of the bound: at 82% full, under 0.1% of the keys meet two full sets. */
const SLOTS_PER_KEY = 1.22;
const TAG_DOUBLES = 1;
const ID_BITS = 16;
const ID_MASK = 0xffff;

/** The largest id that a slot can carry; 0 marks a slot that is free. */
export const ID_MAX: number = ID_MASK;

/** What a table asks of those who keep state in it. */
export interface SlotOwner {
  /** What it would cost to forget the slot: the share of its limit in use, 0 if nothing is. */
  share(slot: number, id: number, nowMs: number): number;
  /** Told just before a live slot is given up for another key. */
  forget(slot: number, id: number, nowMs: number): void;
}

/** Counts of one table. */
export interface TableStats {
  readonly keys: number;
  readonly bytes: number;
}

export class Table {
  /** State: `doublesPerSlot - 1` doubles from `stateAt(slot)` on. */
  readonly doubles: Float64Array;
  /** The same memory in halves of a double, for state that is made of 32-bit integers. */
  readonly words: Int32Array;
  readonly #doublesPerSlot: number;
  readonly #wordsPerSlot: number;
  readonly #sets: number;
  readonly #keysMax: number;
  readonly #owner: SlotOwner;
  #keys = 0;

  /**
   * @param shape - `keysMax` keys at the most, each with `stateDoubles` doubles of state.
   * @param owner - Whoever knows what the state means.
   */
  constructor(shape: { keysMax: number; stateDoubles: number }, owner: SlotOwner) {
    this.#doublesPerSlot = TAG_DOUBLES + shape.stateDoubles;
    this.#wordsPerSlot = 2 * this.#doublesPerSlot;
    this.#sets = Math.ceil((shape.keysMax * SLOTS_PER_KEY) / WAYS);
    this.#keysMax = shape.keysMax;
    this.#owner = owner;
    const buffer = new ArrayBuffer(this.#sets * WAYS * this.#doublesPerSlot * 8);
    this.words = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  get stats(): TableStats {
    return { keys: this.#keys, bytes: this.doubles.byteLength };
  }

  get isEmpty(): boolean {
    return this.#keys === 0;
  }

  /** All slots are numbered from 0 to this, exclusive. */
  get slots(): number {
    return this.#sets * WAYS;
  }

  /** Where the state of `slot` begins in `doubles`. */
  stateAt(slot: number): number {
    return slot * this.#doublesPerSlot + TAG_DOUBLES;
  }

  /** The id under which `slot` was last written; 0 if it is free. */
  idOf(slot: number): number {
    return this.words[slot * this.#wordsPerSlot + 1] & ID_MASK;
  }

  setId(slot: number, id: number): void {
    const at = slot * this.#wordsPerSlot + 1;
    this.words[at] = (this.words[at] & ~ID_MASK) | id;
  }

  /** The slot of a fingerprint, or -1. */
  find(low: number, high: number): number {
    const slot = this.#findIn(this.#firstSet(low), low, high);
    return slot >= 0 ? slot : this.#findIn(this.#secondSet(low, high), low, high);
  }

  /**
   * A slot for a fingerprint that has none: a free one of the emptier set, else the one whose
   * loss costs least. Its state is whatever was there before.
   */
  claim(low: number, high: number, id: number, nowMs: number): number {
    const slot = this.#room(this.#firstSet(low), this.#secondSet(low, high), nowMs);
    const at = slot * this.#wordsPerSlot;
    this.words[at] = high;
    this.words[at + 1] = (low << ID_BITS) | id;
    this.#keys++;
    return slot;
  }

  /** Frees a slot. */
  free(slot: number): void {
    this.words[slot * this.#wordsPerSlot + 1] = 0;
    this.#keys--;
  }

  // The upper bits of `low` choose the first set, its lower 16 and all of `high` are the tag.
  #firstSet(low: number): number {
    return Math.floor((low >>> 0) * 2 ** -32 * this.#sets);
  }

  #secondSet(low: number, high: number): number {
    const mixed = Math.imul(low, 0x9e3779b1) ^ high;
    return Math.floor((mixed >>> 0) * 2 ** -32 * this.#sets);
  }

  #findIn(set: number, low: number, high: number): number {
    const { words } = this;
    const stride = this.#wordsPerSlot;
    const tail = low & ID_MASK;
    const first = set * WAYS * stride;
    for (let at = first, end = first + WAYS * stride; at < end; at += stride) {
      if (words[at] !== high) continue;
      const rest = words[at + 1];
      if (rest >>> ID_BITS === tail && (rest & ID_MASK) !== 0) return at / stride;
    }
    return -1;
  }

  #room(first: number, second: number, nowMs: number): number {
    if (this.#keys < this.#keysMax) {
      const set = this.#freeIn(first) >= this.#freeIn(second) ? first : second;
      const slot = this.#freeSlotIn(set);
      if (slot >= 0) return slot;
    }
    return this.#giveUpOne(first, second, nowMs);
  }

  #freeIn(set: number): number {
    const { words } = this;
    const stride = this.#wordsPerSlot;
    const first = set * WAYS * stride + 1;
    let free = 0;
    for (let at = first, end = first + WAYS * stride; at < end; at += stride) {
      if (words[at] === 0) free++;
    }
    return free;
  }

  #freeSlotIn(set: number): number {
    const { words } = this;
    const stride = this.#wordsPerSlot;
    const first = set * WAYS * stride + 1;
    for (let at = first, end = first + WAYS * stride; at < end; at += stride) {
      if (words[at] === 0) return (at - 1) / stride;
    }
    return -1;
  }

  /** Frees the slot of the smallest share in two sets; in others if these are empty. */
  #giveUpOne(first: number, second: number, nowMs: number): number {
    let slot = this.#leastIn(first, second, nowMs);
    for (let step = 1; slot < 0; step++) {
      const set = (first + step) % this.#sets;
      slot = this.#leastIn(set, set, nowMs);
    }
    this.#owner.forget(slot, this.idOf(slot), nowMs);
    this.free(slot);
    return slot;
  }

  #leastIn(first: number, second: number, nowMs: number): number {
    let least = Number.POSITIVE_INFINITY;
    let leastSlot = -1;
    for (let way = 0; way < 2 * WAYS; way++) {
      const slot = way < WAYS ? first * WAYS + way : second * WAYS + way - WAYS;
      const id = this.idOf(slot);
      if (id === 0) continue;
      const share = this.#owner.share(slot, id, nowMs);
      if (share === 0) return slot;
      if (share < least) {
        least = share;
        leastSlot = slot;
      }
    }
    return leastSlot;
  }
}
