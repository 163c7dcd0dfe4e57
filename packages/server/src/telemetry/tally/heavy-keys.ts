// The keys of a rule that come most often, found by the space-saving sketch. A new key gets a place only with a chance
// of one in the count that it would continue from: keys that come often get in soon, and a flood of keys that come once
// is turned away for the price of a look-up.

import { SpaceSavingSketch, type WatchedCount } from "sluice/internals";

/** How many prints, the lowest bits of their hashes, distinguish keys before they are looked up: a power of two. */
const PRINTS = 1_024;

/** A key that is watched. */
interface WatchedKey extends WatchedCount {
  key: string;
  print: number;
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

  /**
   * Counts a key. Returns whether it has just become hot: it is so this period and was not in the last.
   *
   * @param hash - Any whole number from 0 to below 2 ** 32, always the same for the same key.
   */
  hit(key: string, hash: number): boolean {
    const print = hash & (PRINTS - 1);
    const known = this.#prints[print] === 0 ? undefined : this.#byKey.get(key);
    const watched = known ?? this.#watch(key, print);
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
  #watch(key: string, print: number): WatchedKey | undefined {
    // The lowest rank is at most the lowest count, which is looked for only if the draw may pass.
    const draw = this.#chance();
    if (draw * (this.#sketch.rankMin + 1) >= 1) return undefined;
    if (!this.#sketch.isFull) return this.#add(key, print);
    const lightest = this.#sketch.lightest();
    return draw * (lightest.count + 1) >= 1 ? undefined : this.#replace(lightest, key, print);
  }

  #add(key: string, print: number): WatchedKey {
    const watched = { key, print, count: 0, error: 0, rank: 0, hits: 0, hitsBefore: 0 };
    this.#know(watched);
    this.#sketch.add(watched);
    return watched;
  }

  /** Watches another key in the same place, by the same object: it continues from its count. */
  #replace(watched: WatchedKey, key: string, print: number): WatchedKey {
    this.#byKey.delete(watched.key);
    this.#prints[watched.print]--;
    watched.key = key;
    watched.print = print;
    watched.error = watched.count;
    watched.hits = 0;
    watched.hitsBefore = 0;
    this.#know(watched);
    return watched;
  }

  #know(watched: WatchedKey): void {
    this.#byKey.set(watched.key, watched);
    this.#prints[watched.print]++;
  }
}
