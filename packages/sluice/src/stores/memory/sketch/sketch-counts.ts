// The counts of one sketch limit: most keys share the cells of the lines, and the keys that have used most have exact
// counters in a small table in front. A key moves there early, while the lines are nearly empty and its count nearly
// exact. When it is evicted, its count goes back to the lines. So no count is ever less than what the key used.

import type { SketchLimit } from "../../../limits/limits.js";
import { Table } from "../table/table.js";
import { SketchLines } from "./sketch-lines.js";

/** A key has its own counter from this share of its limit on, while there is room. */
const PROMOTE_SHARE = 1 / 8;
/** The threshold rises by this share of itself whenever a key above it had to be evicted. */
const PROMOTE_RISE = 1 / 16;
/** A charge from further back than this many windows means that the clock stepped back, not that it is late. */
const LATE_WINDOWS = 1;
/** Every slot of the exact table has this id: the table belongs to one sketch. */
const ID = 1;
/** An exact counter is `stamp × span + used`, as one whole number. */
const SPAN = 2 ** 32;
/** How many fingerprints are looked at to see how much a key that was never seen would be over-counted. */
const PROBES = 256;

/** Figures of the counts of one sketch. */
export interface SketchFigures {
  /** Memory of the lines and of the exact counters. */
  readonly bytes: number;
  /** The share of the cells that are in use in the current window. */
  readonly fill: number;
  /** Units charged in the current window. */
  readonly units: number;
  /** What a key may be over-counted by with the limit's confidence: `errorShare` of these units. */
  readonly errorUnitsMax: number;
  /** What a key that was never seen is over-counted by on average, measured by looking at some. */
  readonly errorUnits: number;
  /** Keys with exact counters, including those of earlier windows that were not overwritten yet. */
  readonly exactKeys: number;
}

/** What is charged to a key. */
export interface SketchCharge {
  readonly cost: number;
  /** The most that the key may have used afterwards. */
  readonly usedMax: number;
  readonly isHeld: boolean;
}

export class SketchCounts {
  readonly limit: SketchLimit;
  readonly #lines: SketchLines;
  /** Undefined if no key has an exact counter. */
  readonly #exact: Table | undefined;
  /** The number of the current window; -1 before the first charge. */
  #window = -1;
  #units = 0;
  /** The exact counter of the key that was looked at last; -1 if it has none in this window. */
  #slot = -1;
  /** A key with a lower count in the lines has no exact counter in this window. */
  #lookFrom: number;
  /** A key with this count is given an exact counter. */
  #promoteFrom: number;
  /** What was counted under other numbers: it counts until the window ends in which they changed. */
  #before: SketchCounts | undefined;
  #beforeAtMs = 0;

  /** @param before - The counts of the same keys under other numbers, if there were any. */
  constructor(limit: SketchLimit, before: SketchCounts | undefined) {
    this.limit = limit;
    this.#lines = new SketchLines(limit);
    this.#before = before;
    // Two changes of the numbers within one window are carried over; what a third one would add is not kept.
    const earlier = before === undefined ? undefined : before.#before;
    if (earlier !== undefined) earlier.#before = undefined;
    this.#lookFrom = this.#promoteFrom = promoteFromOf(limit);
    if (limit.exactKeysMax === 0) return;
    this.#exact = new Table(
      { keysMax: limit.exactKeysMax, stateDoubles: 1 },
      {
        share: (slot) => this.#share(slot),
        forget: (slot) => this.#demote(slot),
      },
    );
  }

  get figures(): SketchFigures {
    const exact = this.#exact?.stats ?? { keys: 0, bytes: 0 };
    return {
      bytes: this.#lines.bytes + exact.bytes + (this.#before?.figures.bytes ?? 0),
      fill: this.#lines.fill,
      units: this.#units,
      errorUnitsMax: this.limit.errorShare * this.#units,
      errorUnits: this.#probe(),
      exactKeys: exact.keys,
    };
  }

  /** What a key has used in the window of `nowMs`: never too little. Changes nothing. */
  used(high: number, low: number, nowMs: number): number {
    const isCurrent = this.#windowAt(nowMs) <= this.#window;
    const own = isCurrent ? this.#own(high, low) : 0;
    return this.#before === undefined ? own : own + this.#carried(high, low, nowMs);
  }

  /**
   * Charges a key `cost` units if it has then used no more than `usedMax`. Returns what it had used before. `isHeld`: a
   * part of the cost may be refunded soon.
   */
  charge(
    high: number,
    low: number,
    { cost, usedMax, isHeld }: SketchCharge,
    nowMs: number,
  ): number {
    this.#turnTo(nowMs);
    const carried = this.#before === undefined ? 0 : this.#carried(high, low, nowMs);
    const own = this.#own(high, low);
    const used = carried + own;
    if (used + cost > usedMax || cost === 0) return used;
    this.#units += cost;
    const after = Math.min(own + cost, this.limit.usedMax);
    if (this.#slot >= 0) this.#write(this.#slot, after);
    else if (this.#exact === undefined || (after < this.#promoteFrom && !isHeld)) {
      this.#lines.raise(after);
    } else this.#promote(high, low, after, isHeld, nowMs);
    return used;
  }

  /** Takes units back from what a key used, by giving it an exact counter; returns how many. */
  refund(high: number, low: number, units: number, nowMs: number): number {
    if (this.#exact === undefined) return 0;
    const before = this.#before;
    const carried = before === undefined ? 0 : this.#carried(high, low, nowMs);
    this.#turnTo(nowMs);
    const own = this.#own(high, low);
    const back = Math.min(own, units);
    if (back > 0) {
      // The lines are left as they are: other keys share its cells.
      this.#lookFrom = 0;
      this.#setExact(high, low, own - back, nowMs);
    }
    if (back === units || carried === 0 || before === undefined) return back;
    return back + before.refund(high, low, Math.min(carried, units - back), this.#beforeAtMs);
  }

  /** The count of a key in the lines, or in its exact counter if it has one, whose slot is then in `#slot`. */
  #own(high: number, low: number): number {
    const estimate = this.#lines.find(high, low);
    this.#slot = -1;
    if (estimate < this.#lookFrom || this.#exact === undefined) return estimate;
    const slot = this.#exact.find(toSetBits(high, low), high);
    const exact = slot < 0 ? -1 : this.#usedIn(slot);
    if (exact < 0) return estimate;
    this.#slot = slot;
    return exact;
  }

  /** Gives the key that was found last an exact counter. */
  #promote(high: number, low: number, used: number, isHeld: boolean, nowMs: number): void {
    // From now on the key is looked for in the table. For one that may soon have used less, the lines stay as they are.
    if (isHeld) this.#lookFrom = 0;
    else if (this.#lookFrom > 0) this.#lines.raise(this.#lookFrom);
    this.#setExact(high, low, used, nowMs);
  }

  #setExact(high: number, low: number, used: number, nowMs: number): void {
    const exact = this.#exact;
    if (exact === undefined) return;
    const setBits = toSetBits(high, low);
    const found = exact.find(setBits, high);
    const slot = found >= 0 ? found : exact.claim(setBits, high, ID, nowMs);
    this.#write(slot, used);
    // No look-up finds the spare slot.
    if (slot === exact.slots) this.#raise(high, low, used);
  }

  #write(slot: number, used: number): void {
    const exact = this.#exact as Table;
    exact.doubles[exact.stateAt(slot)] = this.#lines.stamp * SPAN + used;
  }

  /** What an exact counter says; -1 if it is of an earlier window. */
  #usedIn(slot: number): number {
    const exact = this.#exact as Table;
    const used = exact.doubles[exact.stateAt(slot)] - this.#lines.stamp * SPAN;
    return used < SPAN ? used : -1;
  }

  #share(slot: number): number {
    return Math.max(0, this.#usedIn(slot)) / this.limit.capacity;
  }

  /** The count of an evicted key goes to the lines. */
  #demote(slot: number): void {
    const used = this.#usedIn(slot);
    if (used < 0) return;
    const { high, low } = (this.#exact as Table).tagOf(slot);
    this.#raise(high, low, used);
    if (used < this.#promoteFrom) return;
    // There are more such keys than counters: from now on a key needs more than that to get one.
    const rise = Math.max(1, Math.floor(this.#promoteFrom * PROMOTE_RISE));
    this.#promoteFrom = Math.min(this.limit.capacity, this.#promoteFrom + rise);
  }

  #raise(high: number, low: number, to: number): void {
    this.#lines.find(high, low);
    this.#lines.raise(to);
  }

  #windowAt(nowMs: number): number {
    return Math.floor(nowMs / this.limit.windowMs);
  }

  /** Makes the window of `nowMs` the current one. */
  #turnTo(nowMs: number): void {
    const window = this.#windowAt(nowMs);
    if (window === this.#window) return;
    if (this.#window < 0) {
      this.#window = window;
      this.#beforeAtMs = nowMs;
    } else if (window > this.#window) {
      this.#window = window;
      this.#startWindow();
    } else if (window < this.#window - LATE_WINDOWS) {
      // The clock stepped back: what was counted goes on to count until the next window.
      this.#window = window;
    }
  }

  #startWindow(): void {
    this.#units = 0;
    this.#before = undefined;
    this.#lookFrom = this.#promoteFrom = promoteFromOf(this.limit);
    const isAgain = this.#lines.startWindow();
    // Counters of the windows that had these stamps before must not come back.
    if (isAgain) this.#exact?.freeAll(new Set([ID]), () => {});
  }

  /** What was used under the numbers before, no more than the limit of today. */
  #carried(high: number, low: number, nowMs: number): number {
    const { capacity } = this.limit;
    if (this.#before === undefined) return 0;
    if (this.#window < 0) return Math.min(capacity, this.#before.used(high, low, nowMs));
    if (this.#windowAt(nowMs) > this.#window) return 0;
    return Math.min(capacity, this.#before.used(high, low, this.#beforeAtMs));
  }

  #probe(): number {
    let sum = 0;
    for (let i = 0; i < PROBES; i++) {
      // Evenly over all lines, in cells that no real key prefers.
      const high = Math.floor(((i + 0.5) / PROBES) * 2 ** 32);
      sum += this.#lines.find(high, Math.imul(i, 0x9e37) & 0xffff);
    }
    return sum / PROBES;
  }
}

function promoteFromOf({ capacity }: SketchLimit): number {
  return Math.max(1, Math.ceil(capacity * PROMOTE_SHARE));
}

// The table chooses a set by the upper half of the low bits, and keeps the lower half. A key that is evicted has to be
// found in the lines by what the table kept, so both have only that.
function toSetBits(high: number, low: number): number {
  const mix = Math.imul(high ^ Math.imul(low, 0x85ebca6b), 0xc2b2ae35);
  return (mix & 0xffff0000) | (low & 0xffff);
}
