// Which ranges of addresses hold an address, in about the same time for ten ranges and for a hundred thousand
// (bench abuse/cidr). Ranges are kept as edges in order: the first address of each, and the one after its last. An address
// is in a range if the number of edges up to it is odd. Edges are divided by the first 16 bits in which the ranges differ,
// and compared by the 32 bits after those, so that a look-up reads two places in memory.

import { ITEMS_A_STEP, type Steps } from "../../base/steps.js";
import {
  ADDRESS_WORDS,
  RANGE_WORDS,
  type RangeCollection,
  writeWords,
} from "./range-collection.js";

const BUCKET_BITS = 16;
const BUCKETS = 2 ** BUCKET_BITS;
const KEY_BITS = 32;
/** Fewer edges are found as quickly without buckets, which take a quarter of a megabyte. */
const BUCKETS_FROM = 128;
/** After so many words of edges others may have their turn. */
const WORDS_A_STEP = 16 * RANGE_WORDS * ITEMS_A_STEP;
/** So few edges are compared one after the other, which is quicker than to search among them. */
const SCAN_MAX = 8;

/** The address that is looked for. Only used within one call. */
const wanted = new Uint32Array(ADDRESS_WORDS);

/** The ranges of one family. */
export class RangeIndex {
  /** How many ranges there are, once those that overlap have become one. */
  readonly size: number;
  /** The first bits, which all ranges have in common: an address with others is in none. */
  readonly #common: Uint32Array;
  readonly #commonBits: number;
  /** For each bucket, how many edges there are before it; undefined if there are few. */
  readonly #starts: Uint32Array | undefined;
  /** Where the bits begin by which edges are compared. */
  readonly #keyFrom: number;
  readonly #keys: Uint32Array;
  /** What follows the key of each edge, by words from this one on; undefined if there are only zeros. */
  readonly #tailWord: number;
  readonly #tails: Uint32Array | undefined;

  /** Indexes ranges. This can be interrupted. */
  static *of(ranges: RangeCollection): Steps<RangeIndex> {
    const merged = yield* ranges.merge();
    const common = merged.slice(0, ADDRESS_WORDS);
    const commonBits = commonBitsOf(common, merged.subarray(merged.length - ADDRESS_WORDS));
    const edges = yield* toEdges(merged, { common, commonBits });
    const hasBuckets = edges.length / ADDRESS_WORDS >= BUCKETS_FROM;
    const keyFrom = commonBits + (hasBuckets ? BUCKET_BITS : 0);
    return new RangeIndex({
      size: merged.length / RANGE_WORDS,
      common,
      commonBits,
      starts: hasBuckets ? yield* toStarts(edges, commonBits) : undefined,
      keyFrom,
      keys: yield* toKeys(edges, keyFrom),
      tails: yield* toTails(edges, keyFrom + KEY_BITS),
    });
  }

  private constructor(parts: IndexParts) {
    this.size = parts.size;
    this.#common = parts.common;
    this.#commonBits = parts.commonBits;
    this.#starts = parts.starts;
    this.#keyFrom = parts.keyFrom;
    this.#keys = parts.keys;
    this.#tailWord = (parts.keyFrom + KEY_BITS) >>> 5;
    this.#tails = parts.tails;
  }

  /** Whether one of the ranges holds the address. */
  has(address: Uint16Array): boolean {
    if (this.size === 0) return false;
    writeWords(address, wanted, 0);
    if (!hasBits(this.#common, wanted, this.#commonBits)) return false;
    const starts = this.#starts;
    if (starts === undefined) return isOdd(this.#edgesUpTo(0, this.#keys.length));
    const bucket = bitsAt(wanted, 0, this.#commonBits) >>> BUCKET_BITS;
    return isOdd(this.#edgesUpTo(starts[bucket], starts[bucket + 1]));
  }

  /** How many edges are at or before the wanted address, if it is after those below `from` and before `end`. */
  #edgesUpTo(from: number, end: number): number {
    const keys = this.#keys;
    const key = bitsAt(wanted, 0, this.#keyFrom);
    let low = from;
    let high = end;
    while (high - low > SCAN_MAX) {
      const middle = (low + high) >>> 1;
      if (keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    let edges = low;
    for (let i = low; i < high; i++) edges += keys[i] < key ? 1 : 0;
    while (edges < end && keys[edges] === key && this.#isTailUpTo(edges)) edges++;
    return edges;
  }

  /** Whether an edge with the key of the wanted address is at or before it. */
  #isTailUpTo(edge: number): boolean {
    const tails = this.#tails;
    if (tails === undefined) return true;
    const words = ADDRESS_WORDS - this.#tailWord;
    for (let i = 0; i < words; i++) {
      const difference = tails[edge * words + i] - wanted[this.#tailWord + i];
      if (difference !== 0) return difference < 0;
    }
    return true;
  }
}

/** Bits that all ranges begin with. */
interface CommonBits {
  readonly common: Uint32Array;
  readonly commonBits: number;
}

/** What a {@link RangeIndex} consists of. */
interface IndexParts extends CommonBits {
  readonly size: number;
  readonly starts: Uint32Array | undefined;
  readonly keyFrom: number;
  readonly keys: Uint32Array;
  readonly tails: Uint32Array | undefined;
}

/** The first address of each range and the one after its last, except one that does not begin with the common bits. */
function* toEdges(merged: Uint32Array, { common, commonBits }: CommonBits): Steps<Uint32Array> {
  if (merged.length === 0) return merged;
  const edges = merged.slice();
  for (let at = ADDRESS_WORDS; at < edges.length; at += RANGE_WORDS) {
    if (at % WORDS_A_STEP === ADDRESS_WORDS) yield;
    increment(edges, at);
  }
  const last = edges.subarray(-ADDRESS_WORDS);
  const isWithin = hasBits(common, last, commonBits) && last.some((word) => word !== 0);
  return isWithin ? edges : edges.subarray(0, -ADDRESS_WORDS);
}

/** Turns an address into the one after it; the last of all into the first. */
function increment(words: Uint32Array, at: number): void {
  for (let i = at + ADDRESS_WORDS - 1; i >= at; i--) {
    words[i]++;
    if (words[i] !== 0) return;
  }
}

function isOdd(count: number): boolean {
  return (count & 1) === 1;
}

function* toStarts(edges: Uint32Array, commonBits: number): Steps<Uint32Array> {
  const starts = new Uint32Array(BUCKETS + 1);
  for (let at = 0; at < edges.length; at += ADDRESS_WORDS) {
    if (at % WORDS_A_STEP === 0) yield;
    starts[(bitsAt(edges, at, commonBits) >>> BUCKET_BITS) + 1]++;
  }
  for (let i = 1; i <= BUCKETS; i++) starts[i] += starts[i - 1];
  return starts;
}

function* toKeys(edges: Uint32Array, from: number): Steps<Uint32Array> {
  const keys = new Uint32Array(edges.length / ADDRESS_WORDS);
  for (let at = 0; at < edges.length; at += ADDRESS_WORDS) {
    if (at % WORDS_A_STEP === 0) yield;
    keys[at / ADDRESS_WORDS] = bitsAt(edges, at, from);
  }
  return keys;
}

/** The words of edges from the one on in which this bit is; undefined if no edge has a bit set from there on. */
function* toTails(edges: Uint32Array, from: number): Steps<Uint32Array | undefined> {
  const first = from >>> 5;
  if (first >= ADDRESS_WORDS) return undefined;
  const tails = new Uint32Array((edges.length / ADDRESS_WORDS) * (ADDRESS_WORDS - first));
  let set = 0;
  for (let at = 0, to = 0; at < edges.length; at += ADDRESS_WORDS) {
    if (at % WORDS_A_STEP === 0) yield;
    set |= edges[at + first] << (from & 31);
    for (let i = first; i < ADDRESS_WORDS; i++) {
      if (i > first) set |= edges[at + i];
      tails[to++] = edges[at + i];
    }
  }
  return set === 0 ? undefined : tails;
}

/** How many bits two addresses begin with that are the same; so few that a bucket's bits follow. */
function commonBitsOf(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < a.length; i++) {
    const differing = a[i] ^ b[i];
    if (differing !== 0) return Math.min(32 * i + Math.clz32(differing), 128 - BUCKET_BITS);
  }
  return 128 - BUCKET_BITS;
}

/** Whether two addresses begin with the same bits. */
function hasBits(a: Uint32Array, b: Uint32Array, bits: number): boolean {
  for (let i = 0, left = bits; left > 0; i++, left -= 32) {
    const mask = left >= 32 ? 0xffffffff : ~(0xffffffff >>> left);
    if (((a[i] ^ b[i]) & mask) !== 0) return false;
  }
  return true;
}

/** The 32 bits of the address at `at` that follow this many; zeros behind its end. */
function bitsAt(words: Uint32Array, at: number, from: number): number {
  const word = from >>> 5;
  const shift = from & 31;
  const high = words[at + word] << shift;
  const low = shift === 0 || word === ADDRESS_WORDS - 1 ? 0 : words[at + word + 1] >>> (32 - shift);
  return (high | low) >>> 0;
}
