// The keys of a rule that come most often, found by the space-saving sketch. A new key gets a place only with a chance
// of one in the count that it would continue from: keys that come often get in soon, and a flood of keys that come once
// is turned away for the price of a look-up.

import { SpaceSavingSketch, type WatchedCount } from "sluice/space-saving";

// Taken off its prototype, as in distinct-keys.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** How many prints distinguish keys before they are looked up: a power of two. */
const PRINTS = 1_024;

/** A key that is watched. */
interface WatchedKey extends WatchedCount {
  key: string;
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
  readonly #chance: () => number;
  readonly #hotHits: number;
  readonly #byKey = new Map<string, WatchedKey>();
  /** How many keys of each print are watched. Most keys are not, and cost no look-up (bench service/batch). */
  readonly #prints = new Uint32Array(PRINTS);
  readonly #sketch: SpaceSavingSketch<WatchedKey>;

  constructor({ keysMax, chance, hotHits }: HeavyKeysOptions) {
    this.#sketch = new SpaceSavingSketch(keysMax);
    this.#chance = chance;
    this.#hotHits = hotHits;
  }

  /** Counts a key. Returns whether it has just become hot: it is so this period and was not in the last. */
  hit(key: string): boolean {
    const known = this.#prints[printOf(key)] === 0 ? undefined : this.#byKey.get(key);
    const watched = known ?? this.#watch(key);
    if (watched === undefined) return false;
    watched.count++;
    watched.hits++;
    return watched.hits === this.#hotHits && watched.hitsBefore < this.#hotHits;
  }

  /** Begins another period, or skips ahead by `periods`. What is older than the last period is forgotten. */
  roll(periods: number): void {
    this.#sketch.roll(periods);
  }

  /** The keys that came in this period or the last one, and how often, in no particular order. */
  *[Symbol.iterator](): Generator<{ key: string; hits: number }> {
    for (const { key, hits, hitsBefore } of this.#sketch) {
      if (hits + hitsBefore > 0) yield { key, hits: hits + hitsBefore };
    }
  }

  /** Starts to watch a new key; undefined if it gets no place this time. */
  #watch(key: string): WatchedKey | undefined {
    // The lowest rank is at most the lowest count, which is looked for only if the draw may pass.
    const draw = this.#chance();
    if (draw * (this.#sketch.rankMin + 1) >= 1) return undefined;
    if (!this.#sketch.isFull) return this.#add(key);
    const lightest = this.#sketch.lightest();
    return draw * (lightest.count + 1) >= 1 ? undefined : this.#replace(lightest, key);
  }

  #add(key: string): WatchedKey {
    const watched = { key, count: 0, error: 0, rank: 0, hits: 0, hitsBefore: 0 };
    this.#know(watched);
    this.#sketch.add(watched);
    return watched;
  }

  /** Watches another key in the same place, by the same object: it continues from its count. */
  #replace(watched: WatchedKey, key: string): WatchedKey {
    this.#byKey.delete(watched.key);
    this.#prints[printOf(watched.key)]--;
    watched.key = key;
    watched.error = watched.count;
    watched.hits = 0;
    watched.hitsBefore = 0;
    this.#know(watched);
    return watched;
  }

  #know(watched: WatchedKey): void {
    this.#byKey.set(watched.key, watched);
    this.#prints[printOf(watched.key)]++;
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
