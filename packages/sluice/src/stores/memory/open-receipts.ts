// The receipts that are out: reserved costs and permits that were not settled yet. Whatever is given
// back or granted on a key lowers what its open receipts stand for (algorithms/receipts.ts), so
// they have to be known. Bounded: beyond the bound the oldest one is lost, and brings nothing.

import { algorithmOf } from "../../algorithms/index.js";
import { lowerReceipts, type OpenReceiptNumbers, standsFor } from "../../algorithms/receipts.js";
import type { Receipt } from "../../algorithms/step.js";
import type { Located } from "./locator.js";

/** A receipt that is out, as it reads now. Copies of the receipt a caller has share it. */
export interface OpenReceipt {
  /** Later receipts have larger numbers. */
  readonly sequence: number;
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
  #sequence = 0;

  constructor(receiptsMax: number) {
    this.#receiptsMax = receiptsMax;
  }

  /** A receipt that is out, known only to whoever has it until it is added. */
  make(
    { low, high }: Pick<Located, "low" | "high">,
    { cost, atMs, mark, before }: Receipt,
  ): OpenReceipt {
    const sequence = this.#sequence++;
    const receipt = { cost, atMs, mark, before, lowered: 0 };
    return { sequence, low, high, receipt, state: "open" };
  }

  add(open: OpenReceipt): void {
    if (this.#all.size >= this.#receiptsMax) this.#loseOldest();
    this.#all.add(open);
    const byMark = this.#byKey.get(toIndex(open)) ?? new Map<number, OpenReceipt[]>();
    this.#byKey.set(toIndex(open), byMark);
    const alike = byMark.get(open.receipt.mark);
    if (alike === undefined) byMark.set(open.receipt.mark, [open]);
    else alike.push(open);
  }

  /** Closes a receipt. */
  settle(open: OpenReceipt): void {
    this.#remove(open);
    this.#close(open, "settled");
  }

  /**
   * Closes a receipt that gave something back. It leaves the older ones more room than before, so
   * only those that are younger may stand for less now.
   */
  settleGiven(open: OpenReceipt, at: Located): void {
    const alike = this.#byKey.get(toIndex(open))?.get(open.receipt.mark) ?? [];
    const place = placeOf(open, alike);
    this.settle(open);
    // What came after it has moved up into its place.
    if (place < alike.length) this.#lower(alike, place, at);
  }

  /** An operator granted something on this key: any of its open receipts may stand for less now. */
  lowerAll(at: Located): void {
    for (const alike of [...(this.#byKey.get(toIndex(at))?.values() ?? [])]) {
      this.#lower(alike, 0, at);
      this.#dropSpent(alike, at);
    }
  }

  /** The key was given up or renumbered: its open receipts bring nothing any more. */
  loseKey(tag: { low: number; high: number }): void {
    if (this.#all.size === 0) return;
    for (const alike of this.#byKey.get(toIndex(tag))?.values() ?? []) {
      for (const open of alike) this.#close(open, "lost");
    }
    this.#byKey.delete(toIndex(tag));
  }

  /** Lowers the receipts of one key and mark from `first` on. */
  #lower(alike: readonly OpenReceipt[], first: number, at: Located): void {
    const { cells } = at.placement;
    // Looked up anew: a reset has freed the slot.
    const slot = cells.table.find(at.low, at.high);
    const { mark } = alike[first].receipt;
    const inUse = slot < 0 ? 0 : cells.inUse(slot, mark, at.nowMs);
    const measure = algorithmOf(cells.limit).measure(cells.limit);
    lowerReceipts(alike, first, { inUse, measure, nowMs: at.nowMs });
  }

  /** What can bring nothing any more need not be known, nor looked at again. */
  #dropSpent(alike: OpenReceipt[], at: Located): void {
    const { limit } = at.placement.cells;
    const measure = algorithmOf(limit).measure(limit);
    const isSpent = ({ receipt }: OpenReceipt) => standsFor(receipt, measure, at.nowMs) === 0;
    const rest = alike.filter((open) => !isSpent(open));
    for (const open of alike) if (isSpent(open)) this.#close(open, "lost");
    this.#replace(alike[0], rest);
  }

  #loseOldest(): void {
    for (const oldest of this.#all) {
      this.#lose(oldest);
      return;
    }
  }

  #lose(open: OpenReceipt): void {
    this.#remove(open);
    this.#close(open, "lost");
  }

  #remove(open: OpenReceipt): void {
    if (!this.#all.has(open)) return;
    const alike = this.#byKey.get(toIndex(open))?.get(open.receipt.mark) ?? [];
    alike.splice(placeOf(open, alike), 1);
    if (alike.length === 0) this.#replace(open, alike);
  }

  /** Puts other receipts in the place of those with the key and mark of `open`. */
  #replace(open: OpenReceipt, alike: OpenReceipt[]): void {
    const byMark = this.#byKey.get(toIndex(open));
    if (alike.length > 0) byMark?.set(open.receipt.mark, alike);
    else byMark?.delete(open.receipt.mark);
    if (byMark?.size === 0) this.#byKey.delete(toIndex(open));
  }

  #close(open: OpenReceipt, state: "settled" | "lost"): void {
    this.#all.delete(open);
    open.state = state;
  }
}

/** Where a receipt is among its like, which are in the order of their numbers. */
function placeOf(open: OpenReceipt, alike: readonly OpenReceipt[]): number {
  let [low, high] = [0, alike.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (alike[middle].sequence < open.sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The 48 bits of a fingerprint that a slot tells. */
function toIndex(print: { low: number; high: number }): number {
  return (print.high >>> 0) * 2 ** 16 + (print.low & 0xffff);
}
