// What receipts stand for. A charge stands on what was in use before it; together that is the most
// its receipt can bring. Whatever else is given back or granted on the same key may have paid for
// it: with 10 reserved, all 10 refunded and 10 spent again, cancelling must bring nothing.

import type { Receipt, Settlement } from "./step.js";

/** What lowering has to know of an algorithm and of the state after something was given back. */
export interface UseAfter {
  inUse(mark: number): number;
  standsFor(receipt: Receipt): number;
  perUnit: number;
}

/**
 * The open receipts of one key, the oldest first, after something was given back on it: all of
 * them together stand for no more than what is in use. The youngest are served first, since the
 * oldest debt is the first to be paid.
 */
export function lowerReceipts(receipts: readonly Receipt[], after: UseAfter): readonly Receipt[] {
  const leftByMark = new Map<number, number>();
  const lower = (receipt: Receipt): Receipt => {
    const left = leftByMark.get(receipt.mark) ?? after.inUse(receipt.mark);
    const stood = after.standsFor(receipt);
    const stands = Math.min(stood, left);
    leftByMark.set(receipt.mark, left - Math.min(stands, receipt.cost * after.perUnit));
    return { ...receipt, lowered: (receipt.lowered ?? 0) + stood - stands };
  };
  return receipts.toReversed().map(lower).toReversed();
}

/** What a receipt stands for where nothing flows back by itself, in units. */
export function unitsStoodFor(receipt: Receipt): number {
  return Math.max(0, receipt.before + receipt.cost - (receipt.lowered ?? 0));
}

/** The units that a settlement brings where nothing flows back by itself. */
export function unitsBack({ receipt, kept }: Settlement): number {
  return Math.min(receipt.cost - kept, unitsStoodFor(receipt));
}
