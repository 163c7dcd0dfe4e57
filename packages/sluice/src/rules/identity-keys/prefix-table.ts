// Values by address prefix, found by the addresses in them. Prefixes are nested or apart, never overlapping, so they are
// sorted once and each knows the one around it: a look-up is a binary search and a few steps outwards, whatever the
// number of prefixes. The numbers are in typed arrays: a hundred thousand prefixes take 2.5 MB.

import { type Family, readAddress } from "../normalize/address.js";
import type { AddressPrefix } from "./cidr.js";

/** A prefix, and what belongs to it. */
export interface PrefixEntry<T> {
  readonly prefix: AddressPrefix;
  readonly value: T;
}

const scratch = new Uint16Array(8);
/** The address that is looked for, as four words of 32 bits. */
const wanted = new Uint32Array(4);

/** Values by address prefix, of both families. */
export class PrefixTable<T> {
  readonly #ipv4: Prefixes<T>;
  readonly #ipv6: Prefixes<T>;

  /** @param pick - Chooses between two values of the same prefix. */
  constructor(entries: readonly PrefixEntry<T>[], pick: (a: T, b: T) => T) {
    const of = (family: Family) => entries.filter(({ prefix }) => prefix.family === family);
    this.#ipv4 = new Prefixes(of(4), pick);
    this.#ipv6 = new Prefixes(of(6), pick);
  }

  /**
   * The value that `better` prefers of all prefixes that the address, in any notation, lies in. Undefined if it lies in
   * none, or is not an address. `better` gets undefined first.
   */
  find<C>(
    address: string,
    better: (best: T | undefined, value: T, context: C) => T | undefined,
    context: C,
  ): T | undefined {
    const family = readAddress(address, scratch);
    if (family === 0) return undefined;
    for (let i = 0; i < 4; i++) {
      wanted[i] = ((scratch[2 * i] << 16) | scratch[2 * i + 1]) >>> 0;
    }
    return (family === 4 ? this.#ipv4 : this.#ipv6).find(better, context);
  }
}

/** The prefixes of one family, sorted by where they begin, wide ones first. */
class Prefixes<T> {
  /** Four words for each. */
  readonly #firsts: Uint32Array;
  readonly #lengths: Uint8Array;
  /** The narrowest prefix around each, or -1. */
  readonly #around: Int32Array;
  readonly #values: T[] = [];

  constructor(entries: readonly PrefixEntry<T>[], pick: (a: T, b: T) => T) {
    const sorted = entries.toSorted((a, b) => compare(a.prefix, b.prefix));
    this.#firsts = new Uint32Array(4 * sorted.length);
    this.#lengths = new Uint8Array(sorted.length);
    this.#around = new Int32Array(sorted.length);
    let before: AddressPrefix | undefined;
    for (const { prefix, value } of sorted) {
      const last = this.#values.length - 1;
      if (before !== undefined && compare(before, prefix) === 0) {
        this.#values[last] = pick(this.#values[last], value);
      } else this.#add(prefix, value);
      before = prefix;
    }
  }

  #add({ first, length }: AddressPrefix, value: T): void {
    const at = this.#values.length;
    for (let i = 0; i < 4; i++) {
      wanted[i] = ((first[2 * i] << 16) | first[2 * i + 1]) >>> 0;
      this.#firsts[4 * at + i] = wanted[i];
    }
    this.#lengths[at] = length;
    this.#around[at] = this.#outwards(at - 1);
    this.#values.push(value);
  }

  find<C>(
    better: (best: T | undefined, value: T, context: C) => T | undefined,
    context: C,
  ): T | undefined {
    let best: T | undefined;
    let at = this.#outwards(this.#lastFrom());
    while (at >= 0) {
      best = better(best, this.#values[at], context);
      at = this.#around[at];
    }
    return best;
  }

  /** The last prefix that does not begin after the wanted address; -1 if all do. */
  #lastFrom(): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#beginsAfter(middle)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  #beginsAfter(at: number): boolean {
    for (let i = 0; i < 4; i++) {
      const word = this.#firsts[4 * at + i];
      if (word !== wanted[i]) return word > wanted[i];
    }
    return false;
  }

  /** This prefix or the narrowest around it that the wanted address lies in; -1 if none is. */
  #outwards(from: number): number {
    let at = from;
    while (at >= 0 && !this.#holds(at)) at = this.#around[at];
    return at;
  }

  #holds(at: number): boolean {
    const length = this.#lengths[at];
    for (let i = 0; i < 4; i++) {
      const bits = length - 32 * i;
      if (bits <= 0) return true;
      const mask = bits >= 32 ? 0xffffffff : ~(0xffffffff >>> bits);
      if (((wanted[i] ^ this.#firsts[4 * at + i]) & mask) !== 0) return false;
    }
    return true;
  }
}

function compare(a: AddressPrefix, b: AddressPrefix): number {
  for (let i = 0; i < 8; i++) {
    if (a.first[i] !== b.first[i]) return a.first[i] - b.first[i];
  }
  return a.length - b.length;
}
