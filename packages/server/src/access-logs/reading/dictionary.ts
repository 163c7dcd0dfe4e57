// Gives each string or address a place when it comes for the first time. A dictionary is bounded in places and in
// characters, and starts again when it is full: what clients can choose, such as paths, may be different in every line.

import { AddressPlaces } from "./address-places.js";
import type { Added } from "./line-batch.js";

/** Places beyond which the next batch starts again. */
export const PLACES_MAX = 32_768;
/** Characters, in the same way. */
const CHARACTERS_MAX = 2_097_152;

/** What the numbers of batches stand for, where batches are written. */
export class Dictionary<T extends string | number> {
  /** How often it has started again. */
  number = 0;
  /** Characters that were added since the last batch. */
  addedCharacters = 0;
  readonly #places = new Map<T, number>();
  /** Undefined until an address comes. */
  #addresses: AddressPlaces | undefined;
  #added: T[] = [];
  #count = 0;
  #characters = 0;

  /** The place of a string, from 1 on. */
  placeOf(text: T & string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.addedCharacters += text.length;
    const place = this.#add(text);
    this.#places.set(text, place);
    return place;
  }

  /** The place of an IPv4 address. One that has a place already may get another one. */
  placeOfAddress(address: T & number): number {
    this.#addresses ??= new AddressPlaces();
    const known = this.#addresses.placeOf(address);
    if (known > 0) return known;
    const place = this.#add(address);
    this.#addresses.add(address, place);
    return place;
  }

  /** What was added since the batch before. Starts again if it is full. */
  endBatch(): Added<T> {
    const batch = { dictionary: this.number, added: this.#added };
    this.#added = [];
    this.#characters += this.addedCharacters;
    this.addedCharacters = 0;
    if (this.#count >= PLACES_MAX || this.#characters >= CHARACTERS_MAX) {
      this.number++;
      this.#places.clear();
      this.#addresses?.clear();
      this.#count = 0;
      this.#characters = 0;
    }
    return batch;
  }

  #add(value: T): number {
    this.#added.push(value);
    return ++this.#count;
  }
}
