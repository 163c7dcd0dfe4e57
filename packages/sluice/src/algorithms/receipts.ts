// What receipts stand for. A charge stands on what was in use before it; together that is the most
// its receipt can bring. Whatever else is given back or granted on the same key may have paid for
// it: with 10 reserved, all 10 refunded and 10 spent again, cancelling must bring nothing.

import type { Receipt, Settlement } from "./step.js";

/** What lowering has to know of an algorithm and of the state after something was given back. */
export interface UseAfter {
  /** What is in use of the thing that the receipts charged. */
  inUse: number;
  standsFor(receipt: Receipt): number;
  perUnit: number;
}

/** The numbers of a receipt that is out: what it stands for may be lowered. */
export type OpenReceiptNumbers = Omit<Receipt, "lowered"> & { lowered: number };

/** Whoever keeps a receipt that is out. */
export interface ReceiptHolder {
  readonly receipt: OpenReceiptNumbers;
}

/**
 * Lowers the open receipts of one key and mark, given the oldest first, after something was given
 * back: all of them together stand for no more than what is in use. The youngest are served first,
 * since the oldest debt is the first to be paid. In place, because a busy key may have thousands.
 */
export function lowerReceipts(holders: readonly ReceiptHolder[], after: UseAfter): void {
  let left = after.inUse;
  for (let i = holders.length - 1; i >= 0; i--) {
    const { receipt } = holders[i];
    const stood = after.standsFor(receipt);
    const stands = Math.min(stood, left);
    left -= Math.min(stands, receipt.cost * after.perUnit);
    receipt.lowered += stood - stands;
  }
}

/** What a receipt stands for where nothing flows back by itself, in units. */
export function unitsStoodFor(receipt: Receipt): number {
  return Math.max(0, receipt.before + receipt.cost - (receipt.lowered ?? 0));
}

/** The units that a settlement brings where nothing flows back by itself. */
export function unitsBack({ receipt, kept }: Settlement): number {
  return Math.min(receipt.cost - kept, unitsStoodFor(receipt));
}
