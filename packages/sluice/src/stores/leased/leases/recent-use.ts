// How often keys were asked for recently, without storing them: a small table of counts that is cleared regularly.
// Keys that share a count make each other look busier, which costs an unnecessary lease and never a wrong decision.

import { spreadHash } from "../../../base/spread-hash.js";

const SLOTS = 2 ** 16;

/** Counts of the present period, for all keys of a store. */
export class RecentUse {
  readonly #counts = new Uint16Array(SLOTS);
  readonly #periodMs: number;
  readonly #warmAfter: number;
  #endsAtMs = 0;

  constructor(settings: { leaseMs: number; warmAfter: number }) {
    this.#periodMs = settings.leaseMs;
    this.#warmAfter = settings.warmAfter;
  }

  /** Counts an ask. Returns whether the key was asked for often enough in this period. */
  ask(key: string, salt: number, atMs: number): boolean {
    if (atMs >= this.#endsAtMs) {
      this.#counts.fill(0);
      this.#endsAtMs = atMs + this.#periodMs;
    }
    const slot = slotOf(key, salt);
    const count = Math.min(this.#counts[slot] + 1, this.#warmAfter);
    this.#counts[slot] = count;
    return count === this.#warmAfter;
  }
}

function slotOf(key: string, salt: number): number {
  // A client that makes keys collide only gets leases.
  return spreadHash(key, salt) & (SLOTS - 1);
}
