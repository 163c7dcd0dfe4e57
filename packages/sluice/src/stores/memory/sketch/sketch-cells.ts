// The counters of a sketch limit, as the memory store sees them. There is no slot for each key: the number of a key's
// "slot" is its fingerprint, and every key has one. The arithmetic is that of a fixed window over the count that the
// sketch returns.

import { type WindowState, window } from "../../../algorithms/fixed-window.js";
import type { Settlement } from "../../../algorithms/step.js";
import type { Verdict } from "../../../base/decision.js";
import type { SketchLimit } from "../../../limits/limits.js";
import { type AnyStep, type Cells, toVerdict } from "../cells/cells.js";
import type { SlotTable } from "../table/slot-table.js";
import type { SketchCharge, SketchCounts } from "./sketch-counts.js";

/** A fingerprint is 48 bits, as in the slots of a table: all of `high`, and 16 bits of `low`. */
const LOW_SPAN = 2 ** 16;

export class SketchCells implements Cells {
  readonly limit: SketchLimit;
  readonly id: number;
  readonly table: SlotTable;
  // Counts are shared by keys: a charge is weighed first, and taken when all others have passed.
  readonly isAllInSlot = false;
  readonly counts: SketchCounts;

  constructor(limit: SketchLimit, id: number, counts: SketchCounts) {
    this.limit = limit;
    this.id = id;
    this.counts = counts;
    this.table = new FingerprintTable(id);
  }

  weigh(slot: number, cost: number, nowMs: number): AnyStep {
    return window.charge(this.#read(slot, nowMs), this.limit, cost, nowMs);
  }

  decide(slot: number, cost: number, nowMs: number): Verdict {
    const { limit } = this;
    const used = this.#charge(slot, { cost, usedMax: limit.capacity, isHeld: false }, nowMs);
    const state = { window: Math.floor(nowMs / limit.windowMs), used };
    return toVerdict(window.charge(state, limit, cost, nowMs), limit.capacity);
  }

  keep(
    slot: number,
    _step: AnyStep,
    cost: number,
    _isNew: boolean,
    nowMs: number,
    isHeld: boolean,
  ): void {
    this.#charge(slot, { cost, usedMax: Number.POSITIVE_INFINITY, isHeld }, nowMs);
  }

  keepUse(): void {
    // The clock is that of the whole sketch, not of a key.
  }

  force(slot: number, cost: number, nowMs: number): void {
    this.#charge(slot, { cost, usedMax: Number.POSITIVE_INFINITY, isHeld: false }, nowMs);
  }

  refund(slot: number, settlement: Settlement, nowMs: number): boolean {
    const state = this.#read(slot, nowMs);
    const after = window.refund(state, this.limit, settlement, nowMs);
    return after !== state && this.#giveBack(slot, state.used - after.used, nowMs) > 0;
  }

  grant(slot: number, cost: number, nowMs: number): void {
    this.#giveBack(slot, cost, nowMs);
  }

  reset(slot: number, nowMs: number): void {
    this.#giveBack(slot, this.#read(slot, nowMs).used, nowMs);
  }

  inUse(slot: number, mark: number, nowMs: number): number {
    return window.inUse(this.#read(slot, nowMs), this.limit, mark, nowMs);
  }

  share(slot: number, nowMs: number): number {
    return this.#read(slot, nowMs).used / this.limit.capacity;
  }

  clear(): void {
    // Nothing of a key is outside the sketch.
  }

  adopt(): void {
    // A sketch with other numbers follows the one before it as a whole: see SketchCounts.
  }

  #read(slot: number, nowMs: number): WindowState {
    const high = highOf(slot);
    const used = this.counts.used(high, lowOf(slot, high), nowMs);
    return { window: Math.floor(nowMs / this.limit.windowMs), used };
  }

  #charge(slot: number, charge: SketchCharge, nowMs: number): number {
    const high = highOf(slot);
    return this.counts.charge(high, lowOf(slot, high), charge, nowMs);
  }

  #giveBack(slot: number, units: number, nowMs: number): number {
    const high = highOf(slot);
    return this.counts.refund(high, lowOf(slot, high), units, nowMs);
  }
}

function highOf(slot: number): number {
  return Math.floor(slot / LOW_SPAN) | 0;
}

function lowOf(slot: number, high: number): number {
  return slot - (high >>> 0) * LOW_SPAN;
}

/** What stands for a table: every key has a slot, and none is ever claimed, moved or freed. */
class FingerprintTable implements SlotTable {
  readonly #id: number;

  constructor(id: number) {
    this.#id = id;
  }

  find(low: number, high: number): number {
    return (high >>> 0) * LOW_SPAN + (low & 0xffff);
  }

  claim(low: number, high: number): number {
    return this.find(low, high);
  }

  free(): void {}

  idOf(): number {
    return this.#id;
  }

  setId(): void {}

  tagOf(slot: number): { low: number; high: number } {
    const high = highOf(slot);
    return { low: lowOf(slot, high), high };
  }

  copyOut(): void {}

  copyIn(): void {}
}
