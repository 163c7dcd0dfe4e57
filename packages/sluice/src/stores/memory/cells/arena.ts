// A bounded arena of list entries, for logs and permits. Lists of (expiry, cost), the earliest to
// expire first, live in three typed arrays linked by index; freed entries are used again. A list
// is known to its owner by its head, its tail and its total cost, which the owner keeps.

import type { EntryList, ExpiringUnits } from "../../../algorithms/entries.js";

/** No entry. */
const NONE = -1;

/** A list while it is being worked on. Its owner stores head, tail and used. */
export class ArenaList implements EntryList {
  head: number = NONE;
  tail: number = NONE;
  used = 0;
  readonly #arena: Arena;

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  /** When the first entry expires; 0 if there is none. */
  get firstExpiresAtMs(): number {
    return this.head === NONE ? 0 : this.#arena.expiresAtMsOf(this.head);
  }

  get lastExpiresAtMs(): number {
    return this.tail === NONE ? 0 : this.#arena.expiresAtMsOf(this.tail);
  }

  get lastCost(): number {
    return this.tail === NONE ? 0 : this.#arena.costOf(this.tail);
  }

  *[Symbol.iterator](): Generator<ExpiringUnits, void> {
    for (let at = this.head; at !== NONE; at = this.#arena.nextOf(at)) {
      yield { expiresAtMs: this.#arena.expiresAtMsOf(at), cost: this.#arena.costOf(at) };
    }
  }
}

export class Arena {
  readonly #expiresAtMs: Float64Array;
  readonly #costs: Float64Array;
  readonly #next: Int32Array;
  #freeHead = NONE;
  #untouched = 0;
  #live = 0;

  constructor(entriesMax: number) {
    this.#expiresAtMs = new Float64Array(entriesMax);
    this.#costs = new Float64Array(entriesMax);
    this.#next = new Int32Array(entriesMax);
  }

  get entriesMax(): number {
    return this.#next.length;
  }

  /** How many entries still fit. */
  get room(): number {
    return this.#next.length - this.#live;
  }

  get stats(): { entries: number; bytes: number } {
    const bytes = this.#expiresAtMs.byteLength + this.#costs.byteLength + this.#next.byteLength;
    return { entries: this.#live, bytes };
  }

  expiresAtMsOf(at: number): number {
    return this.#expiresAtMs[at];
  }

  costOf(at: number): number {
    return this.#costs[at];
  }

  nextOf(at: number): number {
    return this.#next[at];
  }

  /** Removes what has expired by `nowMs`. */
  expire(list: ArenaList, nowMs: number): void {
    while (list.head !== NONE && this.#expiresAtMs[list.head] <= nowMs) this.#dropHead(list);
  }

  /** Lets entries that would expire after `latestMs` expire then: the clock stepped back. */
  bringForward(list: ArenaList, latestMs: number): void {
    if (list.tail === NONE || this.#expiresAtMs[list.tail] <= latestMs) return;
    const before = this.#lastUntil(list, latestMs);
    let late = 0;
    for (let at = this.#after(list, before); at !== NONE; at = this.#after(list, before)) {
      late += this.#costs[at];
      this.#unlink(list, before, at);
    }
    list.used -= late;
    this.insert(list, latestMs, late);
  }

  /**
   * Adds units that expire at `expiresAtMs`. In a full arena they join the entry that expires
   * next after them, or the last one; returns false if the list has none and nothing was added.
   */
  insert(list: ArenaList, expiresAtMs: number, cost: number): boolean {
    const before = this.#lastUntil(list, expiresAtMs);
    if (before !== NONE && this.#expiresAtMs[before] === expiresAtMs) {
      this.#costs[before] += cost;
    } else if (this.room > 0) {
      this.#link(list, before, this.#take(expiresAtMs, cost));
    } else {
      const after = this.#after(list, before);
      const host = after === NONE ? before : after;
      if (host === NONE) return false;
      this.#costs[host] += cost;
    }
    list.used += cost;
    return true;
  }

  /** Removes at most `cost` units from the entry that expires at exactly `expiresAtMs`. */
  remove(list: ArenaList, expiresAtMs: number, cost: number): void {
    const before = this.#lastUntil(list, expiresAtMs - 1);
    const at = this.#after(list, before);
    if (at === NONE || this.#expiresAtMs[at] !== expiresAtMs) return;
    const removed = Math.min(cost, this.#costs[at]);
    this.#costs[at] -= removed;
    list.used -= removed;
    if (this.#costs[at] === 0) this.#unlink(list, before, at);
  }

  /** Removes `cost` units, the earliest to expire first. */
  dropOldest(list: ArenaList, cost: number): void {
    let left = cost;
    while (left > 0 && list.head !== NONE) {
      const dropped = Math.min(left, this.#costs[list.head]);
      this.#costs[list.head] -= dropped;
      list.used -= dropped;
      left -= dropped;
      if (this.#costs[list.head] === 0) this.#dropHead(list);
    }
  }

  /** Frees a whole list. */
  clear(list: ArenaList): void {
    while (list.head !== NONE) this.#dropHead(list);
  }

  #lastUntil(list: ArenaList, expiresAtMs: number): number {
    if (list.tail !== NONE && this.#expiresAtMs[list.tail] <= expiresAtMs) return list.tail;
    let before = NONE;
    for (let at = list.head; at !== NONE; at = this.#next[at]) {
      if (this.#expiresAtMs[at] > expiresAtMs) break;
      before = at;
    }
    return before;
  }

  #after(list: ArenaList, before: number): number {
    return before === NONE ? list.head : this.#next[before];
  }

  #link(list: ArenaList, before: number, at: number): void {
    const after = this.#after(list, before);
    this.#next[at] = after;
    if (before === NONE) list.head = at;
    else this.#next[before] = at;
    if (after === NONE) list.tail = at;
  }

  #unlink(list: ArenaList, before: number, at: number): void {
    const after = this.#next[at];
    if (before === NONE) list.head = after;
    else this.#next[before] = after;
    if (after === NONE) list.tail = before;
    this.#release(at);
  }

  #dropHead(list: ArenaList): void {
    list.used -= this.#costs[list.head];
    this.#unlink(list, NONE, list.head);
  }

  #take(expiresAtMs: number, cost: number): number {
    const at = this.#freeHead === NONE ? this.#untouched++ : this.#freeHead;
    if (at === this.#freeHead) this.#freeHead = this.#next[at];
    this.#expiresAtMs[at] = expiresAtMs;
    this.#costs[at] = cost;
    this.#live++;
    return at;
  }

  #release(at: number): void {
    this.#next[at] = this.#freeHead;
    this.#freeHead = at;
    this.#live--;
  }
}
