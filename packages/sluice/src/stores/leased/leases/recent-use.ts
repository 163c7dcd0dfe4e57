// How often keys were asked for recently, without storing them: a small table of counts that is cleared regularly.
// Keys that share a count make each other look busier, which costs an unnecessary lease and never a wrong decision.

import { spreadHash } from "../../../base/spread-hash.js";

/** Counts for each key that may be leased at the same time: keys that are not leased need most of them. */
const SLOTS_PER_KEY = 16;
const SLOTS_MIN = 2 ** 12;
const SLOTS_MAX = 2 ** 16;

/** Counts of the present period, for all keys of a store. */
export class RecentUse {
  /** Their number is a power of two. */
  readonly #counts: Uint16Array;
  readonly #periodMs: number;
  readonly #warmAfter: number;
  #endsAtMs = 0;

  constructor(settings: { leaseMs: number; warmAfter: number; keysMax: number }) {
    const slots = 2 ** Math.ceil(Math.log2(SLOTS_PER_KEY * settings.keysMax));
    this.#counts = new Uint16Array(Math.max(SLOTS_MIN, Math.min(slots, SLOTS_MAX)));
    this.#periodMs = settings.leaseMs;
    this.#warmAfter = settings.warmAfter;
  }

  /** Counts an ask. Returns whether the key was asked for often enough in this period. */
  ask(key: string, salt: number, atMs: number): boolean {
    if (atMs >= this.#endsAtMs) {
      this.#counts.fill(0);
      this.#endsAtMs = atMs + this.#periodMs;
    }
    // A client that makes keys collide only gets leases.
    const slot = spreadHash(key, salt) & (this.#counts.length - 1);
    const count = Math.min(this.#counts[slot] + 1, this.#warmAfter);
    this.#counts[slot] = count;
    return count === this.#warmAfter;
  }
}
