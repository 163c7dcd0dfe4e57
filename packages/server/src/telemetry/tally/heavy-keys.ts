// Which keys of a rule come most, in bounded memory: the space-saving sketch. It watches a fixed number of
// keys; a newcomer may take the place of the one with the smallest count and goes on from there. It does so
// with a chance of one in that count: those that come often get in soon, and a flood of keys that come once
// is turned away for the price of a look. Counts are halved each period.

// Taken off its prototype, as in distinct-keys.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** How many prints distinguish keys before they are looked up: a power of two. */
const PRINTS = 1_024;

/** A key that is watched. */
interface Place {
  key: string;
  /** At least as often as it came, by what the halvings have left of it. */
  count: number;
  /** The count when the heap was last put in order: never more than the count itself. */
  rank: number;
  /** How often it came in this period, and in the last one. */
  hits: number;
  hitsBefore: number;
}

/** How keys are watched. */
export interface HeavyKeysOptions {
  /** How many. */
  readonly keysMax: number;
  /** Numbers from 0 to below 1. */
  readonly chance: () => number;
  /** The hits in one period from which a key is hot. */
  readonly hotHits: number;
}

/** The heaviest keys of one rule. */
export class HeavyKeys {
  readonly #keysMax: number;
  readonly #chance: () => number;
  readonly #hotHits: number;
  readonly #byKey = new Map<string, Place>();
  /** How many keys of each print are watched. Most keys are not, and cost no look-up (bench service/batch). */
  readonly #prints = new Uint32Array(PRINTS);
  /** A heap, the lowest rank first. Ranks lag behind counts, so that a hit costs an addition. */
  readonly #places: Place[] = [];

  constructor({ keysMax, chance, hotHits }: HeavyKeysOptions) {
    this.#keysMax = keysMax;
    this.#chance = chance;
    this.#hotHits = hotHits;
  }

  /** Counts a key. Returns whether it has just become hot: it is so this period and was not in the last. */
  hit(key: string): boolean {
    const known = this.#prints[printOf(key)] === 0 ? undefined : this.#byKey.get(key);
    const place = known ?? this.#watch(key);
    if (place === undefined) return false;
    place.count++;
    place.hits++;
    return place.hits === this.#hotHits && place.hitsBefore < this.#hotHits;
  }

  /** Begins another period, or skips ahead by `periods`. What is older than the last period is forgotten. */
  roll(periods: number): void {
    for (const place of this.#places) {
      place.count /= 2 ** periods;
      place.rank /= 2 ** periods;
      place.hitsBefore = periods === 1 ? place.hits : 0;
      place.hits = 0;
    }
  }

  /** The keys that came in this period or the last one, and how often, in no order. */
  *[Symbol.iterator](): Generator<{ key: string; hits: number }> {
    for (const { key, hits, hitsBefore } of this.#places) {
      if (hits + hitsBefore > 0) yield { key, hits: hits + hitsBefore };
    }
  }

  /** The place of a newcomer; undefined if it gets none this time. */
  #watch(key: string): Place | undefined {
    if (this.#places.length < this.#keysMax) return this.#add(key);
    // The lowest rank is at most the lowest count, which is looked for only if the draw may pass.
    const draw = this.#chance();
    if (draw * (this.#places[0].rank + 1) >= 1) return undefined;
    const place = this.#lightest();
    if (draw * (place.count + 1) >= 1) return undefined;
    this.#byKey.delete(place.key);
    this.#prints[printOf(place.key)]--;
    place.key = key;
    place.hits = 0;
    place.hitsBefore = 0;
    this.#know(place);
    return place;
  }

  #know(place: Place): void {
    this.#byKey.set(place.key, place);
    this.#prints[printOf(place.key)]++;
  }

  #add(key: string): Place {
    const place = { key, count: 0, rank: 0, hits: 0, hitsBefore: 0 };
    this.#know(place);
    this.#places.push(place);
    this.#rise(this.#places.length - 1);
    return place;
  }

  /** The key with the smallest count, which is then on top of the heap. */
  #lightest(): Place {
    const places = this.#places;
    // Ranks are brought up to date from the top until the top one is: no other is lower then. Each of
    // them takes at most one turn, and needs a hit to take another.
    while (places[0].rank < places[0].count) {
      places[0].rank = places[0].count;
      this.#sink();
    }
    return places[0];
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

  #sink(): void {
    const places = this.#places;
    for (let at = 0; ; ) {
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

/** A number below {@link PRINTS} out of a few characters, which costs less than to hash them all. */
function printOf(key: string): number {
  const end = key.length - 1;
  const mixed =
    charCodeAt.call(key, end) ^
    (charCodeAt.call(key, end - 1) << 2) ^
    (charCodeAt.call(key, end - 2) << 4) ^
    (charCodeAt.call(key, end >> 1) << 6);
  return (mixed ^ key.length) & (PRINTS - 1);
}
