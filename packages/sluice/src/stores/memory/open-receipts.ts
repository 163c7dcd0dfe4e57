// The receipts that are out: reserved costs and permits that were not settled yet. Whatever is given
// back or granted on a key lowers what its open receipts stand for (algorithms/receipts.ts), so
// they have to be known. Bounded: beyond the bound the oldest one is lost, and brings nothing.

import { algorithmOf } from "../../algorithms/index.js";
import { lowerReceipts, type OpenReceiptNumbers } from "../../algorithms/receipts.js";
import type { Receipt } from "../../algorithms/step.js";
import type { Located } from "./locator.js";

/** A receipt that is out, as it reads now. Copies of the receipt a caller has share it. */
export interface OpenReceipt {
  readonly low: number;
  readonly high: number;
  readonly receipt: OpenReceiptNumbers;
  /** The request that made it, if it has a name. */
  requestName?: string;
  /** Settled receipts are closed and count no more; so are lost ones. */
  state: "open" | "settled" | "lost";
}

/** The open receipts of one key by what was charged, the oldest first. */
type ReceiptsByMark = Map<number, OpenReceipt[]>;

export class OpenReceipts {
  readonly #receiptsMax: number;
  readonly #byKey = new Map<number, ReceiptsByMark>();
  // A Set iterates in the order of insertion: its first entry is the oldest.
  readonly #all = new Set<OpenReceipt>();

  constructor(receiptsMax: number) {
    this.#receiptsMax = receiptsMax;
  }

  add(at: Located, receipt: Receipt): OpenReceipt {
    if (this.#all.size >= this.#receiptsMax) this.#loseOldest();
    const { low, high } = at;
    const open: OpenReceipt = { low, high, receipt: { ...receipt, lowered: 0 }, state: "open" };
    this.#all.add(open);
    const byMark = this.#byKey.get(toIndex(open)) ?? new Map<number, OpenReceipt[]>();
    this.#byKey.set(toIndex(open), byMark);
    const alike = byMark.get(receipt.mark);
    if (alike === undefined) byMark.set(receipt.mark, [open]);
    else alike.push(open);
    return open;
  }

  /** Closes a receipt. */
  settle(open: OpenReceipt): void {
    this.#remove(open);
    open.state = "settled";
  }

  /**
   * Closes a receipt that gave something back. It leaves the older ones more room than before, so
   * only those that are younger may stand for less now.
   */
  settleGiven(open: OpenReceipt, at: Located): void {
    const alike = this.#byKey.get(toIndex(open))?.get(open.receipt.mark) ?? [];
    const younger = alike.slice(alike.lastIndexOf(open) + 1);
    this.settle(open);
    this.#lowerGroup(younger, at);
  }

  /** An operator granted something on this key: any of its open receipts may stand for less now. */
  lowerAll(at: Located): void {
    for (const group of [...(this.#byKey.get(toIndex(at))?.values() ?? [])]) {
      this.#lowerGroup([...group], at);
    }
  }

  /** The key was given up or renumbered: its open receipts bring nothing any more. */
  loseKey(tag: { low: number; high: number }): void {
    if (this.#all.size === 0) return;
    for (const group of [...(this.#byKey.get(toIndex(tag))?.values() ?? [])]) {
      for (const open of [...group]) this.#lose(open);
    }
  }

  #lowerGroup(group: readonly OpenReceipt[], at: Located): void {
    const { cells } = at.placement;
    const open = group.filter((one) => one.low === at.low && one.high === at.high);
    if (open.length === 0) return;
    const algorithm = algorithmOf(cells.limit);
    // Looked up anew: a reset has freed the slot.
    const slot = cells.table.find(at.low, at.high);
    const standsFor = (receipt: Receipt) => algorithm.standsFor(receipt, cells.limit, at.nowMs);
    lowerReceipts(open, {
      inUse: slot < 0 ? 0 : cells.inUse(slot, open[0].receipt.mark, at.nowMs),
      standsFor,
      perUnit: algorithm.perUnit(cells.limit),
    });
    // What can bring nothing any more need not be known, nor looked at again.
    for (const one of open) if (standsFor(one.receipt) === 0) this.#lose(one);
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
    const { mark } = open.receipt;
    const byMark = this.#byKey.get(toIndex(open));
    const alike = byMark?.get(mark) ?? [];
    if (alike.length > 1) alike.splice(alike.indexOf(open), 1);
    else byMark?.delete(mark);
    if (byMark?.size === 0) this.#byKey.delete(toIndex(open));
  }
}

/** The 48 bits of a fingerprint that a slot tells. */
function toIndex(print: { low: number; high: number }): number {
  return (print.high >>> 0) * 2 ** 16 + (print.low & 0xffff);
}
