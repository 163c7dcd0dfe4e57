// A list in which any item can be removed, and the oldest found, in constant time. A Map or Set
// is in order of insertion too, but to find its first entry V8 walks over all entries that were deleted before it,
// so each eviction from a full one takes time in proportion to its bound. The links are numbers in
// arrays, so that an item costs no object and the garbage collector has nothing to follow.

/** No place: what comes after the newest item, and {@link LinkedList.oldest} and `newest` of an empty list. */
export const NO_PLACE = 0;

/** Items in the order in which they were added. Each has a place, a number by which it is removed. */
export class LinkedList<T> {
  // By place. The links are a ring through NO_PLACE: the oldest item comes after it, the newest before.
  readonly #items: (T | undefined)[] = [undefined];
  readonly #older: number[] = [NO_PLACE];
  readonly #newer: number[] = [NO_PLACE];
  /** The first of the places that are free; `#newer` of each is the next one. */
  #free = NO_PLACE;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The place of the oldest item. */
  get oldest(): number {
    return this.#newer[NO_PLACE];
  }

  /** The place of the newest item. */
  get newest(): number {
    return this.#older[NO_PLACE];
  }

  /** The item at a place that is in use. */
  at(place: number): T {
    return this.#items[place] as T;
  }

  /** Adds an item as the newest. Returns its place, which is above 0; places of removed items are reused. */
  add(item: T): number {
    const place = this.#takePlace();
    this.#items[place] = item;
    this.#link(place);
    this.#size++;
    return place;
  }

  /** Removes the item at a place that is in use. */
  remove(place: number): void {
    this.#unlink(place);
    this.#items[place] = undefined;
    this.#newer[place] = this.#free;
    this.#free = place;
    this.#size--;
  }

  /** Makes the item at a place that is in use the newest. */
  renew(place: number): void {
    this.#unlink(place);
    this.#link(place);
  }

  /** The places in use, the oldest first. During iteration only the current item may be removed. */
  *places(): IterableIterator<number> {
    let place = this.oldest;
    while (place !== NO_PLACE) {
      const next = this.#newer[place];
      yield place;
      place = next;
    }
  }

  #takePlace(): number {
    const place = this.#free;
    // `add` and `#link` write the new elements at the end of the arrays.
    if (place === NO_PLACE) return this.#items.length;
    this.#free = this.#newer[place];
    return place;
  }

  #link(place: number): void {
    const newest = this.#older[NO_PLACE];
    this.#older[place] = newest;
    this.#newer[place] = NO_PLACE;
    this.#newer[newest] = place;
    this.#older[NO_PLACE] = place;
  }

  #unlink(place: number): void {
    const older = this.#older[place];
    const newer = this.#newer[place];
    this.#newer[older] = newer;
    this.#older[newer] = older;
  }
}
