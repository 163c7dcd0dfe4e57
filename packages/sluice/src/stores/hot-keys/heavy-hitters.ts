// The keys that are asked for most, of all counters together. Which ones they are is found by the space-saving sketch;
// each counter looks its own up in a map.

import { SpaceSavingSketch, type WatchedCount } from "../../base/space-saving.js";

/** Watched keys that belong together: those of one counter. */
export type Watched<Group> = Map<string, Heavy<Group>>;

/** A key that is watched. */
export interface Heavy<Group> extends WatchedCount {
  readonly group: Group;
  readonly key: string;
  /** Whether it was found to be hot; the sketch does not care. */
  isHot: boolean;
}

/** The heaviest keys of all groups. Each group keeps its part of them in a map of its own. */
export class HeavyHitters<Group extends { readonly watched: Watched<Group> }> {
  readonly #sketch: SpaceSavingSketch<Heavy<Group>>;
  readonly #onEvicted: (heavy: Heavy<Group>) => void;

  constructor(keysMax: number, onEvicted: (heavy: Heavy<Group>) => void) {
    this.#sketch = new SpaceSavingSketch(keysMax);
    this.#onEvicted = onEvicted;
  }

  /** Counts a request for a key, which is watched from now on. */
  hit(group: Group, key: string): Heavy<Group> {
    const heavy = group.watched.get(key) ?? this.#watch(group, key);
    heavy.count++;
    heavy.hits++;
    return heavy;
  }

  /** Begins another period, or skips ahead by `periods`: counts are halved for each, and hits start at 0. */
  roll(periods: number): void {
    this.#sketch.roll(periods);
  }

  /** Every key that is watched, in no particular order. */
  [Symbol.iterator](): Iterator<Heavy<Group>> {
    return this.#sketch[Symbol.iterator]();
  }

  #watch(group: Group, key: string): Heavy<Group> {
    const heavy = { key, count: 0, error: 0, rank: 0, hits: 0, hitsBefore: 0, group, isHot: false };
    group.watched.set(key, heavy);
    if (this.#sketch.isFull) this.#evictFor(heavy);
    else this.#sketch.add(heavy);
    return heavy;
  }

  #evictFor(heavy: Heavy<Group>): void {
    const evicted = this.#sketch.replaceLightest(heavy);
    evicted.group.watched.delete(evicted.key);
    this.#onEvicted(evicted);
  }
}
