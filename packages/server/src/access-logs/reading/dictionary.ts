// Gives each string or number a place when it comes for the first time. A dictionary is bounded in places and in characters,
// and starts again when it is full: what clients can choose, such as paths, may be different in every line.

import type { Added } from "./line-batch.js";

/** Places beyond which the next batch starts again. */
export const PLACES_MAX = 32_768;
/** Characters, in the same way. */
const CHARACTERS_MAX = 2_097_152;

/** What the numbers of batches stand for, where batches are written. */
export class Dictionary<T extends string | number> {
  /** Counts how often it started. */
  number = 0;
  /** Characters that were added since the last batch. */
  addedCharacters = 0;
  readonly #places = new Map<T, number>();
  #added: T[] = [];
  #characters = 0;

  /** The place of a value, from 1 on. */
  placeOf(value: T): number {
    const known = this.#places.get(value);
    if (known !== undefined) return known;
    const place = this.#places.size + 1;
    this.#places.set(value, place);
    this.#added.push(value);
    if (typeof value === "string") this.addedCharacters += value.length;
    return place;
  }

  /** What was added since the batch before. Starts again if it is full. */
  endBatch(): Added<T> {
    const batch = { dictionary: this.number, added: this.#added };
    this.#added = [];
    this.#characters += this.addedCharacters;
    this.addedCharacters = 0;
    if (this.#places.size >= PLACES_MAX || this.#characters >= CHARACTERS_MAX) {
      this.number++;
      this.#places.clear();
      this.#characters = 0;
    }
    return batch;
  }
}
