// How many addresses came from the network that sent most of them, without keeping any: each network has 64 bits in two
// tables, and each address sets one of them. Networks that share a place in both tables are counted together. Only one
// address in eight is looked at, by its hash, so that most decisions cost one comparison; so a small number is rough.

import { hashText } from "./distinct-keys.js";

const PLACES = 4_096;
const BITS = 64;
const WORDS = BITS / 32;
const ONE_IN = 8;
/** With all bits set, there are at least as many addresses as the estimate for all but half a bit. */
const LEFT_MIN = 0.5;

/** Counts different addresses by network. */
export class NetworkKeys {
  readonly #seed: number;
  readonly #tables = [new Uint32Array(PLACES * WORDS), new Uint32Array(PLACES * WORDS)] as const;
  /** The most bits that are set for a network, in the table where there are fewer. */
  #most = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Sees the key of an address, `ip:203.0.113.10`. `hash`: always the same for the same key. */
  see(key: string, hash: number): void {
    if (hash % ONE_IN !== 0) return;
    const network = hashText(networkOf(key), this.#seed);
    const bit = (hash >>> 3) % BITS;
    const one = this.#set(this.#tables[0], network % PLACES, bit);
    const other = this.#set(this.#tables[1], (network >>> 16) % PLACES, bit);
    this.#most = Math.max(this.#most, Math.min(one, other));
  }

  /** About how many addresses the busiest network had. Then all is forgotten. */
  take(): number {
    const left = Math.max(LEFT_MIN, BITS - this.#most);
    const estimate = Math.round(ONE_IN * BITS * Math.log(BITS / left));
    for (const table of this.#tables) table.fill(0);
    this.#most = 0;
    return estimate;
  }

  /** Sets a bit of a place. Returns how many are set. */
  #set(table: Uint32Array, place: number, bit: number): number {
    const at = place * WORDS;
    table[at + (bit >>> 5)] |= 1 << (bit & 31);
    return countBits(table[at]) + countBits(table[at + 1]);
  }
}

/** The network of an address as it is counted: `ip:203.0.113` of IPv4, the first three groups of IPv6. */
function networkOf(key: string): string {
  const dot = key.lastIndexOf(".");
  if (dot > 0) return key.slice(0, dot);
  let end = 0;
  for (let groups = 0; groups < 4 && end >= 0; groups++) end = key.indexOf(":", end + 1);
  return end < 0 ? key : key.slice(0, end);
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
