// Finds charges in the tables: hashes the key, picks the counter's ledger, looks up the slot, and
// brings state that was written under other numbers under those of the charge first.

import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import type { Charge, Counter } from "../store.js";
import type { Cells } from "./cells.js";
import type { KeyHash } from "./hash.js";
import type { Ledger, Ledgers } from "./ledgers.js";
import type { OpenReceipts } from "./open-receipts.js";
import type { Table } from "./table.js";

/** A charge found in its table: where, and when by its limit's time. */
export interface Located {
  readonly charge: Charge;
  readonly ledger: Ledger;
  readonly low: number;
  readonly high: number;
  /** -1 if the key has none. */
  readonly slot: number;
  readonly nowMs: number;
}

export class Locator {
  readonly #hash: KeyHash;
  readonly #ledgers: Ledgers;
  readonly #openReceipts: OpenReceipts;
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastLedger: Ledger | undefined;
  /** How often state was moved from one table to another. */
  #moves = 0;

  constructor(hash: KeyHash, ledgers: Ledgers, openReceipts: OpenReceipts) {
    this.#hash = hash;
    this.#openReceipts = openReceipts;
    this.#ledgers = ledgers;
  }

  ledgerOf(counter: Counter): Ledger {
    if (counter === this.#lastCounter && this.#lastLedger !== undefined) return this.#lastLedger;
    this.#lastLedger = this.#ledgers.of(counter);
    this.#lastCounter = counter;
    return this.#lastLedger;
  }

  locate(charge: Charge): Located {
    const ledger = this.ledgerOf(charge.counter);
    this.#hash.hash(charge.key);
    const low = this.#hash.low ^ ledger.saltLow;
    const high = this.#hash.high ^ ledger.saltHigh;
    const nowMs = timeFor(ledger.cells, charge.key, charge.nowMs);
    const slot = this.find(ledger, low, high, charge.key, charge.nowMs);
    return { charge, ledger, low, high, slot, nowMs };
  }

  /** Locates the charges of one request together. */
  locateAll(charges: readonly Charge[]): readonly Located[] {
    const movesBefore = this.#moves;
    const located = charges.map((charge) => this.locate(charge));
    if (this.#moves === movesBefore) return located;
    // Bringing one charge's state along may have moved another's slot.
    return located.map((at) => ({ ...at, slot: at.ledger.cells.table.find(at.low, at.high) }));
  }

  /** The slot of a fingerprint with its state under the ledger's numbers, or -1. */
  find(ledger: Ledger, low: number, high: number, key: string, nowMs: number): number {
    const { cells } = ledger;
    const slot = cells.table.find(low, high);
    if (slot < 0) {
      return ledger.tables.length > 1 ? this.#fetch(ledger, low, high, key, nowMs) : -1;
    }
    const id = cells.table.idOf(slot);
    if (id !== cells.id) {
      this.#renumber(cells, slot, this.#ledgers.cellsById(id), slot, key, nowMs);
      cells.table.setId(slot, cells.id);
    }
    return slot;
  }

  /** Where the key's state is, under whatever numbers it was written, and nothing changed. */
  locateAsItIs(charge: Charge): { cells: Cells; slot: number; nowMs: number } | undefined {
    const { low, high, tables } = this.#toPrint(charge);
    for (const table of tables) {
      const slot = table.find(low, high);
      if (slot < 0) continue;
      const cells = this.#ledgers.cellsById(table.idOf(slot));
      return { cells, slot, nowMs: timeFor(cells, charge.key, charge.nowMs) };
    }
    return undefined;
  }

  #toPrint({ counter, key }: Charge): { low: number; high: number; tables: readonly Table[] } {
    const { saltLow, saltHigh, tables } = this.ledgerOf(counter);
    this.#hash.hash(key);
    return { low: this.#hash.low ^ saltLow, high: this.#hash.high ^ saltHigh, tables };
  }

  /** A slot for a charge that has none. */
  claim(at: Located): number {
    const { cells } = at.ledger;
    // By the time that all keys share: what others' loss costs is not told by this key's own.
    return cells.table.claim(at.low, at.high, cells.id, at.charge.nowMs);
  }

  /** Moves state from the table in which the counter had it under other numbers. */
  #fetch(ledger: Ledger, low: number, high: number, key: string, nowMs: number): number {
    const { cells, tables } = ledger;
    for (const table of tables) {
      const from = table.find(low, high);
      if (from < 0) continue;
      const slot = cells.table.claim(low, high, cells.id, nowMs);
      this.#renumber(cells, slot, this.#ledgers.cellsById(table.idOf(from)), from, key, nowMs);
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
    // Receipts tell of the old numbers; what they stand for under the new ones can't be told.
    this.#openReceipts.loseKey(from.table.tagOf(fromSlot));
    const times = { fromMs: timeFor(from, key, nowMs), toMs: timeFor(cells, key, nowMs) };
    cells.adopt(slot, from, fromSlot, times);
  }
}

/** A window that is aligned by key lives in a time of its own. */
export function timeFor({ limit }: Cells, key: string, nowMs: number): number {
  if (limit.algorithm !== "fixedWindow" || limit.align === "epoch") return nowMs;
  return nowMs + keyOffsetMs(key, limit.windowMs);
}
