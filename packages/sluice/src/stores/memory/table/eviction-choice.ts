// Which key of a full table is evicted for a new one: of those that the new key's limit may evict, the
// one with the smallest share of its limit in use. A limit may evict its own keys, keys of limits that have
// more than a fair share of the table and more keys than itself, and any key at rest, which costs nothing.

import type { Occupancy } from "./occupancy.js";

/** A key that has used less than this share of its limit is evicted without looking further. */
const SHARE_NEARLY_IDLE = 1 / 8;

export class EvictionChoice {
  /** The slot of the key to evict; -1 while there is none. */
  slot = -1;
  readonly #occupancy: Occupancy;
  readonly #id: number;
  readonly #ownKeys: number;
  readonly #fairShare: number;
  #share = Number.POSITIVE_INFINITY;
  /** How many keys the limit of that key has. */
  #keys = 0;
  /** Whether that limit has no more than a fair share. */
  #isProtected = true;

  /** @param id - The limit of the new key. */
  constructor(occupancy: Occupancy, id: number) {
    this.#occupancy = occupancy;
    this.#id = id;
    this.#ownKeys = occupancy.of(id);
    this.#fairShare = occupancy.fairShare(id);
  }

  /** Whether looking at further keys can't gain much. */
  get isNearlyIdle(): boolean {
    return !this.#isProtected && this.#share < SHARE_NEARLY_IDLE;
  }

  /** Considers a key of the limit `id` that has this share of it in use. */
  consider(slot: number, id: number, share: number): void {
    const keys = this.#occupancy.of(id);
    const isOpen = id === this.#id || share === 0;
    // A limit with no more keys than the new key's own loses none: keys of a flood replace each other.
    if (!isOpen && keys <= this.#ownKeys) return;
    // A small limit evicts from limits within their fair share only if it finds nothing else.
    const isProtected = !isOpen && keys <= this.#fairShare;
    if (!this.#isBetter(isProtected, share, keys)) return;
    this.slot = slot;
    this.#share = share;
    this.#keys = keys;
    this.#isProtected = isProtected;
  }

  #isBetter(isProtected: boolean, share: number, keys: number): boolean {
    if (isProtected !== this.#isProtected) return !isProtected;
    // Of keys with equal shares, that of the largest limit, so that a small limit can grow to its fair share.
    return share < this.#share || (share === this.#share && keys > this.#keys);
  }
}
