// What a receipt stands for: a charge, on top of what was in use before it. Other refunds and grants on the same key
// may have paid for the charge already: with 10 reserved, all 10 refunded and 10 spent again, cancelling the
// reservation must refund nothing.

import type { Measure, Receipt, Settlement } from "./step.js";

/** Use that is counted in units and does not flow back by itself. */
export const IN_UNITS: Measure = { perUnit: 1, perMs: 0 };

/** The state after a refund, as far as lowering needs it. */
export interface UseAfter {
  /** What is in use of the thing that the receipts charged. */
  readonly inUse: number;
  readonly measure: Measure;
  readonly nowMs: number;
}

/** The numbers of an open receipt: what it stands for may be lowered. */
export type OpenReceiptNumbers = Omit<Receipt, "lowered"> & { lowered: number };

/** The holder of an outstanding receipt. */
export interface ReceiptHolder {
  readonly receipt: OpenReceiptNumbers;
}

/**
 * The most that a receipt can bring. Had the charge not happened, what came before it would have
 * been paid off first. What has flowed since then would have been lost, so it has paid for a part
 * of the charge.
 */
export function standsFor(receipt: Receipt, measure: Measure, nowMs: number): number {
  const paid = Math.max(0, nowMs - receipt.atMs) * measure.perMs;
  const charged = receipt.cost * measure.perUnit;
  return Math.max(0, receipt.before + charged - (receipt.lowered ?? 0) - paid);
}

/**
 * Lowers open receipts of one key and mark, the oldest first in the list, after something was given
 * back: all of them together stand for no more than what is in use. The youngest are served first,
 * since the oldest debt is the first to be paid. In place, because a busy key may have thousands.
 */
export function lowerReceipts(
  holders: readonly ReceiptHolder[],
  { inUse, measure, nowMs }: UseAfter,
): void {
  let left = inUse;
  for (let i = holders.length - 1; i >= 0; i--) {
    const { receipt } = holders[i];
    const stood = standsFor(receipt, measure, nowMs);
    const stands = Math.min(stood, left);
    left -= Math.min(stands, receipt.cost * measure.perUnit);
    // A receipt that stands for nothing stays so, even if the clock steps back.
    if (stands === 0) receipt.lowered = receipt.before + receipt.cost * measure.perUnit;
    else receipt.lowered += stood - stands;
  }
}

/** The units that a settlement brings where nothing flows back by itself. */
export function unitsBack({ receipt, kept }: Settlement): number {
  return Math.min(receipt.cost - kept, standsFor(receipt, IN_UNITS, receipt.atMs));
}
