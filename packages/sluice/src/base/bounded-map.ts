// A Map with a bound: beyond it, the entry that was set longest ago is evicted. It holds what is remembered about
// callers (tokens, request ids, refusals), so that a flood of new keys costs neither memory nor time.

import { LinkedList } from "./linked-list.js";

/**
 * A Map of at most `sizeMax` entries, in the order in which they were last set. Every operation on an entry
 * takes constant time, even when the map is full.
 */
export class BoundedMap<K, V> {
  readonly #sizeMax: number;
  readonly #places = new Map<K, number>();
  #keys = new LinkedList<K>();
  /** By the place of the key in `#keys`. */
  #values: (V | undefined)[] = [undefined];

  /** @param sizeMax - The most entries. With 0 nothing is kept. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#keys.size;
  }

  has(key: K): boolean {
    return this.#places.has(key);
  }

  /** The value of a key. Reading does not make an entry newer: for that, set it again. */
  get(key: K): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  /** Sets an entry, which is then the newest. Beyond the bound, evicts the oldest and returns its value. */
  set(key: K, value: V): V | undefined {
    const known = this.#places.get(key);
    if (known !== undefined) {
      this.#values[known] = value;
      this.#keys.renew(known);
      return undefined;
    }
    const place = this.#keys.add(key);
    this.#places.set(key, place);
    this.#values[place] = value;
    return this.#keys.size > this.#sizeMax ? this.#evict() : undefined;
  }

  /** Removes an entry. Returns whether there was one. */
  delete(key: K): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#keys.remove(place);
    this.#values[place] = undefined;
    return true;
  }

  clear(): void {
    if (this.size === 0) return;
    this.#places.clear();
    this.#keys = new LinkedList();
    this.#values = [undefined];
  }

  /** All entries, the oldest first. During iteration only the current entry may be deleted. */
  *[Symbol.iterator](): IterableIterator<readonly [K, V]> {
    for (const place of this.#keys.places()) {
      yield [this.#keys.at(place), this.#values[place] as V];
    }
  }

  #evict(): V {
    const { oldest } = this.#keys;
    const value = this.#values[oldest] as V;
    this.delete(this.#keys.at(oldest));
    return value;
  }
}
