// The receipts that are out: reserved costs and permits that were not settled yet. Whatever is given
// back or granted on a key lowers what its open receipts stand for (algorithms/receipts.ts), so
// they have to be known. Bounded: beyond the bound the oldest one is lost, and brings nothing.

import { algorithmOf } from "../../algorithms/index.js";
import { lowerReceipts, type UseAfter } from "../../algorithms/receipts.js";
import type { Receipt } from "../../algorithms/step.js";
import type { Located } from "./locator.js";

/** A receipt that is out, as it reads now. Copies of the receipt a caller has share it. */
export interface OpenReceipt {
  readonly low: number;
  readonly high: number;
  /** The id of the numbers under which it was written. */
  readonly id: number;
  receipt: Receipt;
  /** Settled receipts are closed and count no more; so are lost ones. */
  state: "open" | "settled" | "lost";
}

export class OpenReceipts {
  readonly #receiptsMax: number;
  readonly #byKey = new Map<number, OpenReceipt[]>();
  // A Set iterates in the order of insertion: its first entry is the oldest.
  readonly #all = new Set<OpenReceipt>();

  constructor(receiptsMax: number) {
    this.#receiptsMax = receiptsMax;
  }

  add(at: Located, receipt: Receipt): OpenReceipt {
    if (this.#all.size >= this.#receiptsMax) this.#loseOldest();
    const { low, high, ledger } = at;
    const open: OpenReceipt = { low, high, id: ledger.cells.id, receipt, state: "open" };
    this.#all.add(open);
    const others = this.#byKey.get(toIndex(open));
    if (others === undefined) this.#byKey.set(toIndex(open), [open]);
    else others.push(open);
    return open;
  }

  /** Closes a receipt. */
  settle(open: OpenReceipt): void {
    this.#remove(open);
    open.state = "settled";
  }

  /** Something was given back on this key: its open receipts may stand for less now. */
  lower(at: Located): void {
    const { cells } = at.ledger;
    const ofKey = (this.#byKey.get(toIndex(at)) ?? []).filter((open) => isOfKey(open, at));
    // Under other numbers there is no telling what a receipt can still bring.
    for (const open of ofKey) if (open.id !== cells.id) this.#lose(open);
    const open = ofKey.filter(({ state }) => state === "open");
    const lowered = lowerReceipts(
      open.map(({ receipt }) => receipt),
      toUse(at),
    );
    for (const [i, receipt] of lowered.entries()) open[i].receipt = receipt;
  }

  #loseOldest(): void {
    for (const oldest of this.#all) {
      this.#lose(oldest);
      return;
    }
  }

  #lose(open: OpenReceipt): void {
    this.#remove(open);
    open.state = "lost";
  }

  #remove(open: OpenReceipt): void {
    if (!this.#all.delete(open)) return;
    const index = toIndex(open);
    const ofKey = this.#byKey.get(index) ?? [];
    if (ofKey.length <= 1) this.#byKey.delete(index);
    else ofKey.splice(ofKey.indexOf(open), 1);
  }
}

function isOfKey(open: OpenReceipt, at: Located): boolean {
  return open.low === at.low && open.high === at.high;
}

function toUse(at: Located): UseAfter {
  const { cells } = at.ledger;
  const algorithm = algorithmOf(cells.limit);
  // Looked up anew: a reset has freed the slot.
  const slot = cells.table.find(at.low, at.high);
  return {
    inUse: (mark) => (slot < 0 ? 0 : cells.inUse(slot, mark, at.nowMs)),
    standsFor: (receipt) => algorithm.standsFor(receipt, cells.limit, at.nowMs),
    perUnit: algorithm.perUnit(cells.limit),
  };
}

/** 53 bits of a fingerprint; the rest is compared where it matters. */
function toIndex(print: { low: number; high: number }): number {
  return (print.low >>> 0) * 2 ** 21 + (print.high >>> 11);
}
