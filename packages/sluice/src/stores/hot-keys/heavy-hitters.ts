// Which keys are asked for most, in bounded memory: the space-saving sketch. It watches a fixed number
// of keys; a newcomer takes the place of the one with the smallest count and goes on from there, so
// that every key with more than its share of the traffic is watched. Counts are halved every so
// often, so that the past is forgotten.

/** Watched keys that belong together: those of one counter. */
export type Watched<Group> = Map<string, Heavy<Group>>;

/** A key that is watched. */
export interface Heavy<Group> {
  readonly group: Group;
  readonly key: string;
  /** At least as often as it was asked for, by what the halvings have left of it. */
  count: number;
  /** How much of the count may be that of keys that had the place before. */
  error: number;
  /** How often it was asked for in this period, and in the last one. */
  hits: number;
  hitsBefore: number;
  /** Whether it was found to be hot; the sketch does not care. */
  isHot: boolean;
}

interface Place<Group> {
  heavy: Heavy<Group>;
  /** The count when the heap was last put in order: never more than the count itself. */
  rank: number;
}

/** The heaviest keys of all groups. Each group keeps its part of them in a map of its own. */
export class HeavyHitters<Group extends { readonly watched: Watched<Group> }> {
  readonly #keysMax: number;
  readonly #onEvicted: (heavy: Heavy<Group>) => void;
  /** A heap, the lowest rank first. Ranks lag behind counts, so that a hit costs an addition. */
  readonly #places: Place<Group>[] = [];

  constructor(keysMax: number, onEvicted: (heavy: Heavy<Group>) => void) {
    this.#keysMax = keysMax;
    this.#onEvicted = onEvicted;
  }

  /** Counts an ask for a key, which is watched from now on. */
  hit(group: Group, key: string): Heavy<Group> {
    const heavy = group.watched.get(key) ?? this.#watch(group, key);
    heavy.count++;
    heavy.hits++;
    return heavy;
  }

  /** Begins a new period: counts are halved, and hits begin at none. */
  roll(): void {
    for (const place of this.#places) {
      const { heavy } = place;
      heavy.count /= 2;
      heavy.error /= 2;
      place.rank /= 2;
      heavy.hitsBefore = heavy.hits;
      heavy.hits = 0;
    }
  }

  /** Every key that is watched, in no order. */
  *[Symbol.iterator](): Generator<Heavy<Group>> {
    for (const { heavy } of this.#places) yield heavy;
  }

  #watch(group: Group, key: string): Heavy<Group> {
    const evicted = this.#places.length < this.#keysMax ? undefined : this.#lightest();
    const error = evicted?.count ?? 0;
    const heavy = { group, key, count: error, error, hits: 0, hitsBefore: 0, isHot: false };
    group.watched.set(key, heavy);
    if (evicted === undefined) {
      this.#places.push({ heavy, rank: 0 });
      this.#rise(this.#places.length - 1);
    } else {
      this.#places[0] = { heavy, rank: error };
      evicted.group.watched.delete(evicted.key);
      this.#onEvicted(evicted);
    }
    return heavy;
  }

  /** The key with the smallest count, which is then on top of the heap. */
  #lightest(): Heavy<Group> {
    const places = this.#places;
    // Ranks are brought up to date from the top until the top one is: no other is lower then. Each
    // of them takes at most one turn, and needs a hit to take another.
    while (places[0].rank < places[0].heavy.count) {
      places[0].rank = places[0].heavy.count;
      this.#sink(0);
    }
    return places[0].heavy;
  }

  #rise(from: number): void {
    const places = this.#places;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (places[parent].rank <= places[at].rank) return;
      [places[parent], places[at]] = [places[at], places[parent]];
      at = parent;
    }
  }

  #sink(from: number): void {
    const places = this.#places;
    for (let at = from; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < places.length && places[left].rank < places[least].rank) least = left;
      if (right < places.length && places[right].rank < places[least].rank) least = right;
      if (least === at) return;
      [places[least], places[at]] = [places[at], places[least]];
      at = least;
    }
  }
}
