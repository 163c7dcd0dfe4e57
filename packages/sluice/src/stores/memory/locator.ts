// Finds charges in the tables: hashes the key, picks the counter's placement, looks up the slot, and
// brings state that was written under other numbers under those of the charge first.

import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import type { Charge, Counter } from "../store.js";
import type { Cells } from "./cells/cells.js";
import type { RequestColumns } from "./columns.js";
import type { KeyHash } from "./hash.js";
import type { Located } from "./located.js";
import type { OpenReceipts } from "./open-receipts.js";
import type { Placement, Placements } from "./placements.js";
import type { SlotTable } from "./table/slot-table.js";

export class Locator {
  readonly #hash: KeyHash;
  readonly #placements: Placements;
  readonly #openReceipts: OpenReceipts;
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastPlacement: Placement | undefined;
  /** How often state was moved from one table to another. */
  #moves = 0;

  constructor(hash: KeyHash, placements: Placements, openReceipts: OpenReceipts) {
    this.#hash = hash;
    this.#openReceipts = openReceipts;
    this.#placements = placements;
  }

  placementOf(counter: Counter, nowMs: number): Placement {
    if (counter === this.#lastCounter && this.#lastPlacement !== undefined)
      return this.#lastPlacement;
    return this.#lookUp(counter, nowMs);
  }

  // A method of its own, so that V8 can inline the common path.
  #lookUp(counter: Counter, nowMs: number): Placement {
    const placement = this.#placements.of(counter, nowMs);
    this.#lastPlacement = placement;
    this.#lastCounter = placement.isKept ? counter : undefined;
    return placement;
  }

  /** See {@link Placements.forget}. */
  forget(counter: Counter): void {
    if (counter === this.#lastCounter) this.#lastCounter = undefined;
    this.#placements.forget(counter);
  }

  locate(charge: Charge): Located {
    const placement = this.placementOf(charge.counter, charge.nowMs);
    this.#hash.hash(charge.key);
    const low = this.#hash.low ^ placement.saltLow;
    const high = this.#hash.high ^ placement.saltHigh;
    const nowMs = timeFor(placement.cells, charge.key, charge.nowMs);
    const slot = this.find(placement, low, high, charge.key, charge.nowMs);
    return { charge, placement, low, high, slot, nowMs };
  }

  /** Locates several charges, each by itself. */
  locateEach(charges: readonly Charge[]): readonly Located[] {
    const movesBefore = this.#moves;
    const located = charges.map((charge) => this.locate(charge));
    if (this.#moves === movesBefore) return located;
    // Bringing one charge's state along may have moved another's slot.
    return located.map((at) => ({ ...at, slot: at.placement.cells.table.find(at.low, at.high) }));
  }

  /** Locates the charges of one request together, and writes down where they are. */
  locateAll(charges: readonly Charge[], at: RequestColumns): void {
    const movesBefore = this.#moves;
    at.isAnyWeighed = false;
    for (let i = 0; i < charges.length; i++) {
      const { counter, key, nowMs } = charges[i];
      if (at.counters[i] !== counter) {
        const found = this.#placements.of(counter, nowMs);
        at.placements[i] = found;
        at.counters[i] = found.isKept ? counter : undefined;
      }
      const placement = at.placements[i];
      // Charges of a request often have the same key, which is then hashed once.
      if (i === 0 || key !== charges[i - 1].key) this.#hash.hash(key);
      const low = this.#hash.low ^ placement.saltLow;
      const high = this.#hash.high ^ placement.saltHigh;
      at.lows[i] = low;
      at.highs[i] = high;
      at.timesMs[i] = timeFor(placement.cells, key, nowMs);
      at.slots[i] = this.find(placement, low, high, key, nowMs);
    }
    if (this.#moves === movesBefore) return;
    for (let i = 0; i < charges.length; i++) {
      at.slots[i] = at.placements[i].cells.table.find(at.lows[i], at.highs[i]);
    }
  }

  /** The slot of a fingerprint with its state under the placement's numbers, or -1. */
  find(placement: Placement, low: number, high: number, key: string, nowMs: number): number {
    const { cells } = placement;
    const slot = cells.table.find(low, high);
    if (slot < 0) {
      return placement.tables.length > 1 ? this.#fetch(placement, low, high, key, nowMs) : -1;
    }
    if (cells.table.idOf(slot) !== cells.id) this.#renumberInPlace(cells, slot, key, nowMs);
    return slot;
  }

  #renumberInPlace(cells: Cells, slot: number, key: string, nowMs: number): void {
    const { table } = cells;
    this.#renumber(cells, slot, this.#placements.cellsById(table.idOf(slot)), slot, key, nowMs);
    table.setId(slot, cells.id);
  }

  /** Where the key's state is, under whatever numbers it was written, and nothing changed. */
  locateAsItIs(charge: Charge): { cells: Cells; slot: number; nowMs: number } | undefined {
    const { low, high, tables } = this.#toPrint(charge);
    for (const table of tables) {
      const slot = table.find(low, high);
      if (slot < 0) continue;
      const cells = this.#placements.cellsById(table.idOf(slot));
      return { cells, slot, nowMs: timeFor(cells, charge.key, charge.nowMs) };
    }
    return undefined;
  }

  /**
   * The key of a permit under whatever numbers it has now, or undefined: under those that the permit was
   * given by, others that were given later might end early.
   */
  locatePermit(charge: Charge): Located | undefined {
    const held = this.locateAsItIs(charge);
    if (held === undefined) return undefined;
    const { low, high } = this.#toPrint(charge);
    const placement = { ...this.placementOf(charge.counter, charge.nowMs), cells: held.cells };
    return { charge, placement, low, high, slot: held.slot, nowMs: held.nowMs };
  }

  #toPrint({ counter, key, nowMs }: Charge): {
    low: number;
    high: number;
    tables: readonly SlotTable[];
  } {
    const { saltLow, saltHigh, tables } = this.placementOf(counter, nowMs);
    this.#hash.hash(key);
    return { low: this.#hash.low ^ saltLow, high: this.#hash.high ^ saltHigh, tables };
  }

  /** A slot for a charge that has none. */
  claim(at: Located): number {
    const { cells } = at.placement;
    // By the time that all keys share: what others' loss costs is not known from this key's own.
    return cells.table.claim(at.low, at.high, cells.id, at.charge.nowMs);
  }

  /** Moves state from the table in which the counter had it under other numbers. */
  #fetch(placement: Placement, low: number, high: number, key: string, nowMs: number): number {
    const { cells, tables } = placement;
    for (const table of tables) {
      const from = table.find(low, high);
      if (from < 0) continue;
      const slot = cells.table.claim(low, high, cells.id, nowMs);
      this.#renumber(cells, slot, this.#placements.cellsById(table.idOf(from)), from, key, nowMs);
      table.free(from);
      this.#moves++;
      return slot;
    }
    return -1;
  }

  #renumber(
    cells: Cells,
    slot: number,
    from: Cells,
    fromSlot: number,
    key: string,
    nowMs: number,
  ): void {
    // Receipts refer to the old numbers; what they stand for under the new ones is unknown. Permits are
    // work that continues whatever the numbers, and come back one by one.
    if (!isPermit(from) || !isPermit(cells)) {
      this.#openReceipts.loseKey(from.table.tagOf(fromSlot));
    }
    const times = { fromMs: timeFor(from, key, nowMs), toMs: timeFor(cells, key, nowMs) };
    cells.adopt(slot, from, fromSlot, times);
  }
}

function isPermit({ limit }: Cells): boolean {
  return limit.algorithm === "concurrency";
}

/** A window that is aligned by key lives in a time of its own. */
export function timeFor({ limit }: Cells, key: string, nowMs: number): number {
  if (limit.algorithm !== "fixedWindow" || limit.align !== "key") return nowMs;
  return nowMs + keyOffsetMs(key, limit.windowMs);
}

/** Whether a limit has such windows. */
export function isAligned({ limit }: Cells): boolean {
  return limit.algorithm === "fixedWindow" && limit.align === "key";
}
