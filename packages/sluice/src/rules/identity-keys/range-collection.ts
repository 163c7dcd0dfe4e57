// Ranges of addresses of one family as they are collected, in one array that grows: a million of them take 32 MB and no
// objects. Sorting and merging them can be interrupted, so that requests are decided while a long list is read.

import { ITEMS_A_STEP, type Steps } from "../../base/steps.js";

/** Words of 32 bits of an address. */
export const ADDRESS_WORDS = 4;
/** A range is its first address, then its last. */
export const RANGE_WORDS = 2 * ADDRESS_WORDS;
/** So many ranges are merged without a pause, in a fraction of a millisecond. */
const MERGED_IN_ONE_GO = 4_096;

export class RangeCollection {
  #words = new Uint32Array(0);
  #count = 0;

  /** Adds the range from one address to another, both included, in eight words of 16 bits; see `readAddress`. */
  add(first: Uint16Array, last: Uint16Array): void {
    const at = this.#count * RANGE_WORDS;
    if (at === this.#words.length) this.#grow();
    writeWords(first, this.#words, at);
    writeWords(last, this.#words, at + ADDRESS_WORDS);
    this.#count++;
  }

  /** The words of the ranges in order; those that overlap have become one. */
  *merge(): Steps<Uint32Array> {
    const words = this.#words;
    const order = yield* this.#sort();
    const merged = new Uint32Array(order.length * RANGE_WORDS);
    let end = 0;
    for (let i = 0; i < order.length; i++) {
      if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
      const range = order[i] * RANGE_WORDS;
      const before = end - ADDRESS_WORDS;
      if (end === 0 || compareWords(merged, before, words, range) < 0) {
        merged.set(words.subarray(range, range + RANGE_WORDS), end);
        end += RANGE_WORDS;
      } else if (compareWords(merged, before, words, range + ADDRESS_WORDS) < 0) {
        merged.set(words.subarray(range + ADDRESS_WORDS, range + RANGE_WORDS), before);
      }
    }
    return merged.subarray(0, end);
  }

  /** The numbers of the ranges by where they begin: sorted in short parts, which are then merged two by two. */
  *#sort(): Steps<Uint32Array> {
    const words = this.#words;
    let sorted = new Uint32Array(this.#count);
    for (let i = 0; i < sorted.length; i++) sorted[i] = i;
    let spare = new Uint32Array(sorted.length);
    for (let part = 1; part < sorted.length; part *= 2) {
      for (let from = 0; from < sorted.length; ) {
        const end = Math.min(from + Math.max(2 * part, MERGED_IN_ONE_GO), sorted.length);
        for (; from < end; from += 2 * part) {
          const merge = startMerge(from, part, sorted.length);
          while (!mergeSome(words, sorted, spare, merge)) yield;
        }
        yield;
      }
      [sorted, spare] = [spare, sorted];
    }
    return sorted;
  }

  #grow(): void {
    const grown = new Uint32Array(Math.max(RANGE_WORDS, 2 * this.#words.length));
    grown.set(this.#words);
    this.#words = grown;
  }
}

/** Two neighbouring parts of ranges, each of them sorted, and how far they are merged. */
interface Merge {
  /** The next range of the first part, the next of the second, and where the next one is written. */
  a: number;
  b: number;
  at: number;
  readonly middle: number;
  readonly end: number;
}

function startMerge(from: number, part: number, count: number): Merge {
  const middle = Math.min(from + part, count);
  return { a: from, b: middle, at: from, middle, end: Math.min(middle + part, count) };
}

/** Merges some more ranges of two parts. Returns whether it was the rest. */
function mergeSome(
  words: Uint32Array,
  sorted: Uint32Array,
  merged: Uint32Array,
  merge: Merge,
): boolean {
  const { middle, end } = merge;
  let { a, b, at } = merge;
  for (const pauseAt = Math.min(end, at + MERGED_IN_ONE_GO); at < pauseAt; at++) {
    const isA =
      b === end ||
      (a < middle &&
        compareWords(words, sorted[a] * RANGE_WORDS, words, sorted[b] * RANGE_WORDS) <= 0);
    merged[at] = sorted[isA ? a++ : b++];
  }
  merge.a = a;
  merge.b = b;
  merge.at = at;
  return at === end;
}

/** An address of eight words of 16 bits as four of 32. */
export function writeWords(address: Uint16Array, words: Uint32Array, at: number): void {
  for (let i = 0; i < ADDRESS_WORDS; i++) {
    words[at + i] = ((address[2 * i] << 16) | address[2 * i + 1]) >>> 0;
  }
}

/** Below 0 if the address at the first place comes first, 0 if they are the same. */
function compareWords(a: Uint32Array, aAt: number, b: Uint32Array, bAt: number): number {
  for (let i = 0; i < ADDRESS_WORDS; i++) {
    const difference = a[aAt + i] - b[bAt + i];
    if (difference !== 0) return difference;
  }
  return 0;
}
