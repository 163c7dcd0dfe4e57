// A table of fixed size, set-associative, in one typed array: no key strings, no objects, no timers.
// A slot is a 64-bit tag (48 bits of the key's fingerprint and a 16-bit id of the limit that wrote
// it) and one to three doubles of state. A key has a first set, and a second one for when that is
// half full; notes beside the sets say which have room and from which keys overflowed. While there are few
// keys they go to the front instead, a part of the table that is small enough for the cache.

import { EvictionChoice } from "./eviction-choice.js";
import { Occupancy } from "./occupancy.js";
import { SetNotes } from "./set-notes.js";

const WAYS = 8;
/** A first set with this many slots taken shares its load with the second. */
const SPILL_FROM = 4;
/** The sets of the front, in a table that has several times as many: 2 MiB of the smallest slots. */
const FRONT_SETS = 16_384;
/** A table smaller than this many fronts has none. */
const FRONTS_MIN = 4;
/**
 * Up to this many keys the front is searched first: a quarter more than fit into it. A full front has keys at rest that
 * others can replace; the few that find a set full of keys in use go behind it.
 */
const FRONT_KEYS_MAX = FRONT_SETS * WAYS * 1.25;
/** Slots for each key of the bound: at 81% full, under 0.1% of the keys meet two full sets. */
const SLOTS_PER_KEY = 1.23;
/** How many further sets are searched for such a key before a busier one is evicted. */
const FURTHER_SETS_MAX = 4;
const ID_BITS = 16;
const ID_MASK = 0xffff;

/** The largest id that a slot can carry; 0 marks a slot that is free. */
export const ID_MAX: number = ID_MASK;

/** The most doubles of state that a slot has. */
export const STATE_DOUBLES_MAX = 3;

/** What a table needs to know about the state in its slots. */
export interface SlotOwner {
  /** What it would cost to forget the slot: the share of its limit in use, 0 if nothing is. */
  share(slot: number, id: number, nowMs: number): number;
  /** Called just before a slot is evicted for another key. */
  forget(slot: number, id: number, nowMs: number): void;
}

export class Table {
  /** State: one to three doubles from `stateAt(slot)` on. */
  readonly doubles: Float64Array;
  /** The same memory in halves of a double, for state that is made of 32-bit integers. */
  readonly words: Int32Array;
  readonly #notes: SetNotes;
  readonly #wordsPerSlot: number;
  readonly #sets: number;
  /** The first sets are the front; 0 in a table that is small as a whole. */
  readonly #frontSets: number;
  /** Up to this many keys the front is searched first; -1 in a table without one. */
  readonly #frontKeysMax: number;
  readonly #owner: SlotOwner;
  readonly #occupancy: Occupancy;
  /** The set at which the next search for a key at rest continues. */
  #hand = 0;
  /** The way of the front at which the next look for a key at rest continues. */
  #way = 0;

  /**
   * @param shape - `keysMax` keys at the most, each with `stateDoubles` doubles of state.
   * @param owner - Knows what the state means.
   */
  constructor(shape: { keysMax: number; stateDoubles: number }, owner: SlotOwner) {
    this.#wordsPerSlot = 2 * (1 + shape.stateDoubles);
    this.#sets = Math.ceil((shape.keysMax * SLOTS_PER_KEY) / WAYS);
    this.#frontSets = this.#sets > FRONTS_MIN * FRONT_SETS ? FRONT_SETS : 0;
    this.#frontKeysMax = this.#frontSets > 0 ? FRONT_KEYS_MAX : -1;
    this.#owner = owner;
    this.#occupancy = new Occupancy(shape.keysMax);
    this.words = new Int32Array((this.slots + 1) * this.#wordsPerSlot);
    this.doubles = new Float64Array(this.words.buffer);
    this.#notes = new SetNotes(this.#sets);
  }

  /** Slots in use and bytes set aside. */
  get stats(): { keys: number; bytes: number } {
    return { keys: this.#occupancy.keys, bytes: this.words.byteLength + this.#notes.bytes };
  }

  get isEmpty(): boolean {
    return this.#occupancy.keys === 0;
  }

  /**
   * All slots are numbered from 0 to this, exclusive. The slot with this number itself is a spare one: it is in no
   * set, so no look-up finds what it holds.
   */
  get slots(): number {
    return this.#sets * WAYS;
  }

  /** Where the state of `slot` begins in `doubles`. */
  stateAt(slot: number): number {
    return slot * (this.#wordsPerSlot >> 1) + 1;
  }

  /** Copies the state of `slot` to `doubles` from `at` on. */
  copyOut(slot: number, doubles: Float64Array, at: number): void {
    const first = this.stateAt(slot);
    const end = this.stateAt(slot + 1) - 1;
    for (let from = first; from < end; from++) doubles[at + from - first] = this.doubles[from];
  }

  /** Makes the state of `slot` what was copied out before. */
  copyIn(slot: number, doubles: Float64Array, at: number): void {
    const first = this.stateAt(slot);
    const end = this.stateAt(slot + 1) - 1;
    for (let to = first; to < end; to++) this.doubles[to] = doubles[at + to - first];
  }

  /** The id under which `slot` was last written; 0 if it is free. */
  idOf(slot: number): number {
    return this.words[slot * this.#wordsPerSlot + 1] & ID_MASK;
  }

  /** What a slot holds of its key's fingerprint: all of `high`, 16 bits of `low`. */
  tagOf(slot: number): { low: number; high: number } {
    const at = slot * this.#wordsPerSlot;
    return { low: this.words[at + 1] >>> ID_BITS, high: this.words[at] };
  }

  /** Marks `slot` as written under another id. */
  setId(slot: number, id: number): void {
    const at = slot * this.#wordsPerSlot + 1;
    this.#occupancy.remove(this.words[at] & ID_MASK);
    this.#occupancy.add(id);
    this.words[at] = (this.words[at] & ~ID_MASK) | id;
  }

  /** The slot of a fingerprint, or -1. */
  find(low: number, high: number): number {
    if (this.#occupancy.keys > this.#frontKeysMax) return this.#findAmongMany(low, high);
    const front = this.#frontSet(high);
    const slot = this.#findIn(front, low, high);
    return slot >= 0 || !this.#notes.mayHaveOverflowed(front, high)
      ? slot
      : this.#findBehind(low, high);
  }

  #findAmongMany(low: number, high: number): number {
    const slot = this.#findBehind(low, high);
    return slot >= 0 || this.#frontSets === 0
      ? slot
      : this.#findIn(this.#frontSet(high), low, high);
  }

  /**
   * A slot for a fingerprint that has none: a free one if its sets have any, else the one whose
   * loss costs least of those that its limit may evict. If there is none of these it is the
   * spare slot, and the key is not remembered. Its state is whatever was there before.
   */
  claim(low: number, high: number, id: number, nowMs: number): number {
    const slot = this.#room(low, high, id, nowMs);
    const at = slot * this.#wordsPerSlot;
    this.words[at] = high;
    this.words[at + 1] = (low << ID_BITS) | id;
    if (slot < this.slots) this.#occupancy.add(id);
    return slot;
  }

  /** Frees a slot. The last one of its set moves there: look-ups stop at the first free slot. */
  free(slot: number): void {
    let last = slot;
    if (slot < this.slots) {
      const set = Math.floor(slot / WAYS);
      last = set * WAYS + this.#notes.free(set);
      this.#occupancy.remove(this.idOf(slot));
    }
    const stride = this.#wordsPerSlot;
    this.words.copyWithin(slot * stride, last * stride, (last + 1) * stride);
    this.words[last * stride + 1] = 0;
  }

  /** Frees all slots that were written under these ids, each after `drop`, in one walk over the table. */
  freeAll(ids: ReadonlySet<number>, drop: (slot: number, id: number) => void): void {
    // The spare slot too: what it holds must not outlive the id either.
    for (let slot = 0; slot <= this.slots; slot++) {
      // Freeing a slot moves another one of its set there.
      for (let id = this.idOf(slot); ids.has(id); id = this.idOf(slot)) {
        drop(slot, id);
        this.free(slot);
      }
    }
  }

  // The upper bits of `low` choose the first set, its lower 16 and all of `high` are the tag.
  #firstSet(low: number): number {
    return this.#setAt((low >>> 0) * 2 ** -32);
  }

  #secondSet(low: number, high: number): number {
    return this.#setAt(((Math.imul(low, 0x9e3779b1) ^ high) >>> 0) * 2 ** -32);
  }

  /** A set behind the front, by a share from 0 to 1. */
  #setAt(share: number): number {
    return this.#frontSets + Math.floor(share * (this.#sets - this.#frontSets));
  }

  #frontSet(high: number): number {
    return Math.floor((high >>> 0) * 2 ** -32 * this.#frontSets);
  }

  #findBehind(low: number, high: number): number {
    const first = this.#firstSet(low);
    const slot = this.#findIn(first, low, high);
    if (slot >= 0 || !this.#notes.mayHaveOverflowed(first, high)) return slot;
    return this.#findIn(this.#secondSet(low, high), low, high);
  }

  #findIn(set: number, low: number, high: number): number {
    const { words } = this;
    const stride = this.#wordsPerSlot;
    const first = set * WAYS;
    for (let way = 0, at = first * stride; way < WAYS; way++, at += stride) {
      const rest = words[at + 1];
      if (rest === 0) return -1;
      if (words[at] === high && rest >>> ID_BITS === (low & ID_MASK)) return first + way;
    }
    return -1;
  }

  #room(low: number, high: number, id: number, nowMs: number): number {
    if (this.#frontSets > 0) {
      const front = this.#frontSet(high);
      const slot = this.#occupancy.keys > FRONT_KEYS_MAX ? -1 : this.#roomInFront(front, nowMs);
      if (slot >= 0) return slot;
      this.#notes.noteOverflow(front, high);
    }
    const first = this.#firstSet(low);
    const second = this.#secondSet(low, high);
    const free = this.#occupancy.isFull ? -1 : this.#freeSlot(first, second);
    const slot = free >= 0 ? free : this.#replace(first, second, id, nowMs);
    if (slot < first * WAYS || slot >= (first + 1) * WAYS) this.#notes.noteOverflow(first, high);
    return slot;
  }

  /**
   * A free slot of a set in the front, or one at rest; -1 if there is none. A key that went behind the front while others
   * in it are at rest would have a page of memory almost to itself (bench replay/memory).
   */
  #roomInFront(set: number, nowMs: number): number {
    if (this.#notes.takenIn(set) < WAYS) return this.#take(set);
    for (let probe = 0; probe < WAYS; probe++) {
      this.#way = (this.#way + 1) % WAYS;
      const slot = set * WAYS + this.#way;
      if (this.#owner.share(slot, this.idOf(slot), nowMs) === 0) return this.#evict(slot, nowMs);
    }
    return -1;
  }

  /** Takes a free slot of two sets; -1 if they have none. */
  #freeSlot(first: number, second: number): number {
    const set = this.#roomier(first, second);
    return this.#notes.takenIn(set) < WAYS ? this.#take(set) : -1;
  }

  #roomier(first: number, second: number): number {
    const taken = this.#notes.takenIn(first);
    return taken < SPILL_FROM || taken <= this.#notes.takenIn(second) ? first : second;
  }

  #take(set: number): number {
    return set * WAYS + this.#notes.take(set);
  }

  /** A slot of these two sets, after evicting the key that costs least to forget. */
  #replace(first: number, second: number, id: number, nowMs: number): number {
    const choice = new EvictionChoice(this.#occupancy, id);
    this.#lookIn(first, choice, nowMs);
    if (!choice.isNearlyIdle) this.#lookIn(second, choice, nowMs);
    const roomier = this.#roomier(first, second);
    const hasRoom = this.#notes.takenIn(roomier) < WAYS;
    if (hasRoom && !choice.isNearlyIdle) this.#lookFurther(choice, nowMs);
    if (choice.slot < 0) return this.#evict(this.slots, nowMs);
    const set = Math.floor(choice.slot / WAYS);
    if (set === first || set === second) return this.#evict(choice.slot, nowMs);
    this.#owner.forget(choice.slot, this.idOf(choice.slot), nowMs);
    this.free(choice.slot);
    return this.#take(roomier);
  }

  /** Forgets a key so that its slot can be claimed by another. */
  #evict(slot: number, nowMs: number): number {
    const id = this.idOf(slot);
    if (id > 0) this.#owner.forget(slot, id, nowMs);
    if (slot < this.slots) this.#occupancy.remove(id);
    return slot;
  }

  /** Looks for a lighter key in the sets that come next, as far as the search goes. */
  #lookFurther(choice: EvictionChoice, nowMs: number): void {
    // Sets without keys don't count: the table is full, so the search ends.
    for (let seen = 0; seen < FURTHER_SETS_MAX && !choice.isNearlyIdle; ) {
      this.#hand = (this.#hand + 1) % this.#sets;
      if (this.idOf(this.#hand * WAYS) === 0) continue;
      this.#lookIn(this.#hand, choice, nowMs);
      seen++;
    }
  }

  #lookIn(set: number, choice: EvictionChoice, nowMs: number): void {
    for (let slot = set * WAYS; slot < (set + 1) * WAYS && !choice.isNearlyIdle; slot++) {
      const id = this.idOf(slot);
      if (id === 0) return;
      choice.consider(slot, id, this.#owner.share(slot, id, nowMs));
    }
  }
}
