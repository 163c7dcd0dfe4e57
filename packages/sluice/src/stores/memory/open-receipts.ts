// The receipts that are out: reserved costs and permits that were not settled yet. Whatever is given
// back or granted on a key lowers what its open receipts stand for (algorithms/receipts.ts), so
// they have to be known. Bounded: beyond the bound the oldest one is lost, and brings nothing.

import { algorithmOf } from "../../algorithms/algorithms.js";
import { lowerReceipts, type OpenReceiptNumbers, standsFor } from "../../algorithms/receipts.js";
import type { Receipt } from "../../algorithms/step.js";
import { LinkedList, NO_PLACE } from "../../base/linked-list.js";
import type { Located } from "./located.js";

/** An open receipt in its current state. Copies of the caller's receipt share it. */
export interface OpenReceipt {
  /** Later receipts have larger numbers. */
  readonly sequence: number;
  readonly low: number;
  readonly high: number;
  readonly receipt: OpenReceiptNumbers;
  /** Its place in the list of all open receipts; {@link NO_PLACE} if it is not in there. */
  place: number;
  /** Its neighbours among the receipts of its key, which are ordered by mark and then by age. */
  previous: OpenReceipt | undefined;
  next: OpenReceipt | undefined;
  /** The request that made it, if it has a name. */
  requestName: string | undefined;
  /** Settled receipts are closed and count no more; so are lost ones. */
  state: "open" | "settled" | "lost";
}

export class OpenReceipts {
  readonly #receiptsMax: number;
  readonly #all = new LinkedList<OpenReceipt>();
  /** The last one of each key. */
  readonly #lastByKey = new Map<number, OpenReceipt>();
  #sequence = 0;

  constructor(receiptsMax: number) {
    this.#receiptsMax = receiptsMax;
  }

  /** An outstanding receipt, known only to its holder until it is added. */
  make(
    { low, high }: Pick<Located, "low" | "high">,
    { cost, atMs, mark, before }: Receipt,
  ): OpenReceipt {
    return {
      sequence: this.#sequence++,
      low,
      high,
      receipt: { cost, atMs, mark, before, lowered: 0 },
      place: NO_PLACE,
      previous: undefined,
      next: undefined,
      requestName: undefined,
      state: "open",
    };
  }

  add(open: OpenReceipt): void {
    if (this.#all.size >= this.#receiptsMax) this.#close(this.#all.at(this.#all.oldest), "lost");
    open.place = this.#all.add(open);
    const index = toIndex(open);
    let previous = this.#lastByKey.get(index);
    let next: OpenReceipt | undefined;
    // Marks are times, or numbers of windows: nearly always the latest one is the largest.
    while (previous !== undefined && previous.receipt.mark > open.receipt.mark) {
      next = previous;
      previous = previous.previous;
    }
    open.previous = previous;
    open.next = next;
    if (previous !== undefined) previous.next = open;
    if (next !== undefined) next.previous = open;
    else this.#lastByKey.set(index, open);
  }

  /** Closes a receipt. */
  settle(open: OpenReceipt): void {
    this.#close(open, "settled");
  }

  /**
   * Closes a receipt that gave something back. It leaves the older ones more room than before, so
   * only those that are younger may stand for less now.
   */
  settleRefunded(open: OpenReceipt, at: Located): void {
    // One that was held briefly has no neighbours.
    const younger = open.place === NO_PLACE ? this.#youngerThan(open) : alikeAfter(open);
    this.settle(open);
    if (younger.length > 0) this.#lower(younger, at);
  }

  /** An operator granted something on this key: any of its open receipts may stand for less now. */
  lowerAll(at: Located): void {
    let last = this.#lastByKey.get(toIndex(at));
    while (last !== undefined) {
      const alike = alikeUpTo(last);
      last = alike[0].previous;
      this.#lower(alike, at);
      this.#dropSpent(alike, at);
    }
  }

  /** The key was evicted or its numbers changed: its open receipts no longer refund anything. */
  loseKey(tag: { low: number; high: number }): void {
    if (this.#all.size === 0) return;
    const index = toIndex(tag);
    for (let last = this.#lastByKey.get(index); last !== undefined; ) {
      this.#close(last, "lost");
      last = this.#lastByKey.get(index);
    }
  }

  /** The younger receipts with the key and mark of one that is not in the list, the oldest first. */
  #youngerThan(other: OpenReceipt): OpenReceipt[] {
    const { mark } = other.receipt;
    let last = this.#lastByKey.get(toIndex(other));
    while (last !== undefined && last.receipt.mark > mark) last = last.previous;
    const alike = last?.receipt.mark === mark ? alikeUpTo(last) : [];
    return alike.filter(({ sequence }) => sequence > other.sequence);
  }

  /** Lowers receipts of one key and mark, the oldest first. */
  #lower(alike: readonly OpenReceipt[], at: Located): void {
    const { cells } = at.placement;
    // Looked up again: a reset has freed the slot.
    const slot = cells.table.find(at.low, at.high);
    const inUse = slot < 0 ? 0 : cells.inUse(slot, alike[0].receipt.mark, at.nowMs);
    const measure = algorithmOf(cells.limit).measure(cells.limit);
    lowerReceipts(alike, { inUse, measure, nowMs: at.nowMs });
  }

  /** Forgets receipts that can no longer refund anything. */
  #dropSpent(alike: readonly OpenReceipt[], at: Located): void {
    const { limit } = at.placement.cells;
    const measure = algorithmOf(limit).measure(limit);
    for (const open of alike) {
      if (standsFor(open.receipt, measure, at.nowMs) === 0) this.#close(open, "lost");
    }
  }

  #close(open: OpenReceipt, state: "settled" | "lost"): void {
    open.state = state;
    if (open.place !== NO_PLACE) this.#remove(open);
  }

  #remove(open: OpenReceipt): void {
    this.#all.remove(open.place);
    open.place = NO_PLACE;
    const { previous, next } = open;
    if (previous !== undefined) previous.next = next;
    if (next !== undefined) next.previous = previous;
    else if (previous !== undefined) this.#lastByKey.set(toIndex(open), previous);
    else this.#lastByKey.delete(toIndex(open));
    // The caller may hold on to a receipt for long, which must not keep its neighbours in memory.
    open.previous = undefined;
    open.next = undefined;
  }
}

/** The younger receipts with the key and mark of an open one, the oldest first. */
function alikeAfter(open: OpenReceipt): OpenReceipt[] {
  const alike: OpenReceipt[] = [];
  let { next } = open;
  for (; next?.receipt.mark === open.receipt.mark; next = next.next) alike.push(next);
  return alike;
}

/** An open receipt and the older ones with its key and mark, the oldest first. */
function alikeUpTo(youngest: OpenReceipt): OpenReceipt[] {
  const alike = [youngest];
  let { previous } = youngest;
  for (; previous?.receipt.mark === youngest.receipt.mark; previous = previous.previous) {
    alike.push(previous);
  }
  return alike.reverse();
}

/** The 48 bits of a fingerprint that a slot holds. */
function toIndex(print: { low: number; high: number }): number {
  return (print.high >>> 0) * 2 ** 16 + (print.low & 0xffff);
}
