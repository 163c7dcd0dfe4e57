/**
 * Which keys come most often, in bounded memory: the space-saving sketch. It watches a fixed number of keys; a new key
 * takes the place of the one with the smallest count and continues from that count, so every key with more than its
 * share of the traffic is watched. Counts are halved each period, so the past fades. How keys are looked up, and which
 * new keys get a place, is up to the owner.
 *
 * @module
 */

/** What the sketch keeps for each watched key. Owners add the key itself. */
export interface WatchedCount {
  /** At least as often as the key came, reduced by the halvings. */
  count: number;
  /** The part of the count that may belong to keys that had the place before. */
  error: number;
  /** The count when the heap was last put in order: never more than the count itself. */
  rank: number;
  /** How often it came in this period, and in the last one. */
  hits: number;
  hitsBefore: number;
}

/** The watched keys, ordered so that the one with the smallest count is found quickly. */
export class SpaceSavingSketch<Watched extends WatchedCount> {
  readonly #keysMax: number;
  /** A heap, the lowest rank first. Ranks lag behind counts, so that a hit costs an addition. */
  readonly #heap: Watched[] = [];
  #rankMin = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Whether every place is taken, so that a new key needs that of another. */
  get isFull(): boolean {
    return this.#heap.length >= this.#keysMax;
  }

  /** At most the smallest count, and cheaper to know; 0 until the sketch is full. */
  get rankMin(): number {
    return this.#rankMin;
  }

  /** Watches a key that has not come before, while there is room. */
  add(watched: Watched): void {
    this.#heap.push(watched);
    this.#rise(this.#heap.length - 1);
  }

  /** The watched key with the smallest count, for a sketch that is full. */
  lightest(): Watched {
    const heap = this.#heap;
    // Ranks are brought up to date from the top until the top one is: then no other is lower. Each
    // of them takes at most one turn, and needs a hit to take another.
    while (heap[0].rank < heap[0].count) {
      heap[0].rank = heap[0].count;
      this.#sink();
    }
    this.#rankMin = heap[0].rank;
    return heap[0];
  }

  /** Watches a new key in place of the lightest, which is returned. The new key continues from its count. */
  replaceLightest(watched: Watched): Watched {
    const evicted = this.lightest();
    watched.count = evicted.count;
    watched.error = evicted.count;
    watched.rank = evicted.rank;
    this.#heap[0] = watched;
    return evicted;
  }

  /** Begins another period, or skips ahead by `periods`: counts are halved for each, and hits start at 0. */
  roll(periods: number): void {
    const divisor = 2 ** periods;
    this.#rankMin /= divisor;
    for (const watched of this.#heap) {
      watched.count /= divisor;
      watched.error /= divisor;
      watched.rank /= divisor;
      watched.hitsBefore = periods === 1 ? watched.hits : 0;
      watched.hits = 0;
    }
  }

  /** Every watched key, in no particular order. */
  [Symbol.iterator](): Iterator<Watched> {
    return this.#heap[Symbol.iterator]();
  }

  #rise(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (heap[parent].rank <= heap[at].rank) return;
      [heap[parent], heap[at]] = [heap[at], heap[parent]];
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < heap.length && heap[left].rank < heap[least].rank) least = left;
      if (right < heap.length && heap[right].rank < heap[least].rank) least = right;
      if (least === at) return;
      [heap[least], heap[at]] = [heap[at], heap[least]];
      at = least;
    }
  }
}
