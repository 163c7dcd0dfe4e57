// A block: budget that was debited in one piece. A unit of it is left, or out for a decision that is
// not made yet, or spent. Units that are out come back to their block whenever they do, also after it
// was let go, until its receipt is presented: a receipt is presented once, for all units together.

import type { ChargeReceipt } from "../store.js";

/** Budget that was debited in one piece, and may be spent until it expires. */
export interface Block {
  /** What giving back presents; only {@link NOTHING} has none. */
  readonly receipt: ChargeReceipt | undefined;
  readonly units: number;
  left: number;
  /** Of what is no longer left: part of a decision that waits for the store to add the rest. */
  lent: number;
  /** Of what is no longer left: taken for requests that another rule may still refuse. */
  brief: number;
  readonly sentAtMs: number;
  readonly expiresAtMs: number;
  /** The same instant by the limit's time: whichever clock gets there first ends the block. */
  readonly endNowMs: number;
  /** Whether nobody could use what is left of it once it expires: its window ends as well. */
  readonly endsForGood: boolean;
  /** Once it is let go: how long it waits for what is out. */
  waitsUntilMs: number;
  /** Whether its receipt was presented: what comes back after that is lost. */
  isSettled: boolean;
}

/** Units out of the blocks of a holding, set aside for one decision. */
export interface Taken {
  readonly units: number;
  readonly parts: readonly { readonly block: Block; readonly units: number }[];
}

/** What a block is made of. */
export type BlockTerms = Pick<
  Block,
  "receipt" | "units" | "sentAtMs" | "expiresAtMs" | "endNowMs" | "endsForGood"
>;

/** A block of which everything is left. */
export function newBlock(terms: BlockTerms): Block {
  const { receipt, units, sentAtMs, expiresAtMs, endNowMs, endsForGood } = terms;
  return {
    receipt,
    units,
    left: units,
    lent: 0,
    brief: 0,
    sentAtMs,
    expiresAtMs,
    endNowMs,
    endsForGood,
    waitsUntilMs: Number.POSITIVE_INFINITY,
    isSettled: false,
  };
}

/** Stands for no block: less than nothing is left of it, so that even a cost of 0 does not fit. */
export const NOTHING: Block = newBlock({
  receipt: undefined,
  units: 0,
  sentAtMs: 0,
  expiresAtMs: 0,
  endNowMs: 0,
  endsForGood: false,
});
NOTHING.left = -1;

export function isBlock(block: Block | undefined): block is Block {
  return block !== undefined && block !== NOTHING;
}

/** Whether units of the block may still be spent. */
export function isAlive(block: Block, atMs: number, nowMs: number): boolean {
  return atMs < block.expiresAtMs && nowMs < block.endNowMs;
}

/** Whether units of the block may still come back. */
export function isOut({ lent, brief }: Block): boolean {
  return lent > 0 || brief > 0;
}

/** Whether something of a block would expire by then, and somebody could use it. */
export function mayExpire(block: Block, atMs: number, untilMs: number): boolean {
  const isSoon = block.expiresAtMs > atMs && block.expiresAtMs <= untilMs;
  return isSoon && block.left > 0 && block.lent === 0 && !block.endsForGood;
}

/** What was lent is spent. */
export function spendLent({ parts }: Taken): void {
  for (const { block, units } of parts) block.lent -= units;
}

/** Puts back what was lent. Returns the units that are lost. */
export function restoreLent({ parts }: Taken): number {
  let lost = 0;
  for (const { block, units } of parts) {
    block.lent -= units;
    lost += toBlock(block, units);
  }
  return lost;
}

/** Puts `units` of what was taken briefly back; the rest is spent. Returns the units that are lost. */
export function restoreBrief({ parts }: Taken, units: number): number {
  let toGo = units;
  let lost = 0;
  // The younger block first: it lives longer.
  for (let i = parts.length - 1; i >= 0; i--) {
    const { block, units: taken } = parts[i];
    const back = Math.min(toGo, taken);
    block.brief -= taken;
    lost += toBlock(block, back);
    toGo -= back;
  }
  return lost;
}

/** Returns the units that are lost because the receipt was presented without them. */
function toBlock(block: Block, units: number): number {
  if (block.isSettled) return units;
  block.left += units;
  return 0;
}
