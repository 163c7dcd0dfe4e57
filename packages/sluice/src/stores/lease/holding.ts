// What one process holds of one key's budget: at most two blocks that were debited ahead, the older
// one spent first, and how large the next should be. Nothing here asks a store: a holding only
// counts, so it can't spend what was not debited.

import type { Verdict } from "../../decision.js";
import type { ChargeReceipt } from "../store.js";

/** Budget that was debited in one piece, and may be spent until it expires. */
export interface Block {
  /** What giving back presents; only {@link NOTHING} has none. */
  readonly receipt: ChargeReceipt | undefined;
  readonly units: number;
  left: number;
  /** Of what is no longer left: part of a decision that waits for the store to add the rest. */
  lent: number;
  readonly sentAtMs: number;
  readonly expiresAtMs: number;
  /** The same instant by the limit's time: whichever clock gets there first ends the block. */
  readonly endNowMs: number;
  /** Whether nobody could use what is left of it once it expires: its window ends as well. */
  readonly endsForGood: boolean;
}

/** Units out of the blocks of a holding, set aside for one decision. */
export interface Taken {
  readonly units: number;
  readonly parts: readonly { readonly block: Block; readonly units: number }[];
}

/** Stands for no block: less than nothing is left of it, so that even a cost of 0 does not fit. */
export const NOTHING: Block = {
  receipt: undefined,
  units: 0,
  left: -1,
  lent: 0,
  sentAtMs: 0,
  expiresAtMs: 0,
  endNowMs: 0,
  endsForGood: false,
};

/** The first block of a key is worth so many of the decision that asked for it. */
const ASKS_FIRST = 8;
/** However fast a key is: a sum of two blocks stays exact, and far from what a limit can hold. */
const BLOCK_UNITS_MAX = 2 ** 40;
/** A block that is half spent within this share of its life was too small. */
const FAST_SHARE = 1 / 3;
/** In the last part of a block's life its successor is asked for, however much is left. */
const LAST_SHARE = 1 / 4;

/** The blocks of one key, the units left in them, and the size of the next one. */
export class Holding {
  block: Block = NOTHING;
  next: Block | undefined;
  askedAtMs: number;
  /** When fewer units than this are left, the next block is asked for; -1: not now. */
  lowAt = -1;
  /** From this time on it is asked for as well. */
  renewAtMs: number = Number.POSITIVE_INFINITY;
  /** Until then no block is asked for: the store has just failed to give one. */
  restsUntilMs = 0;
  /** When all of the limit would be back, as the store told last. */
  resetAtMs = 0;
  /** Since when a block is on its way; Infinity: none is. */
  askingAtMs: number = Number.POSITIVE_INFINITY;
  /** Changes whenever what is on its way is given up: what was asked for before is not kept. */
  epoch = 0;
  /** Verbs under way (a reset, a block) that this key has to be strict for. */
  verbs = 0;
  /** What is on its way from the store and may bring units: refusals wait for it. */
  pending: Promise<void> | undefined;
  #size: number;
  /** What the store said is left for everybody. */
  #remaining = 0;

  constructor(cost: number, atMs: number) {
    this.#size = Math.max(1, cost) * ASKS_FIRST;
    this.askedAtMs = atMs;
  }

  /** Whether a block is on its way. */
  get isAsking(): boolean {
    return this.askingAtMs < Number.POSITIVE_INFINITY;
  }

  /** Units that can be spent, if their blocks live. */
  get left(): number {
    return Math.max(0, this.block.left) + (this.next?.left ?? 0);
  }

  /** Units of the blocks at hand that were spent, or are about to be. */
  get spent(): number {
    const units = this.block.units + (this.next?.units ?? 0);
    return units - this.left;
  }

  /** Lets go of blocks that are spent or have expired. */
  advance(atMs: number, nowMs: number, retire: (block: Block) => void): void {
    if (this.next !== undefined && isOver(this.next, atMs, nowMs)) {
      retire(this.next);
      this.next = undefined;
      this.arm();
    }
    if (this.block !== NOTHING && isOver(this.block, atMs, nowMs)) {
      if (this.#ranDryFast(atMs)) this.#size = this.#doubled();
      retire(this.block);
      this.#moveUp();
    }
  }

  /** Whether the blocks at hand have enough, if they live. */
  covers(cost: number): boolean {
    return this.block !== NOTHING && cost <= this.left;
  }

  /** Spends from the older block, then from the younger one; nothing if they have too little. */
  spend(cost: number): boolean {
    if (!this.covers(cost)) return false;
    const { block, next } = this;
    const first = Math.min(cost, block.left);
    block.left -= first;
    if (next !== undefined) next.left -= cost - first;
    return true;
  }

  /** Spends what is covered, and says of which blocks. */
  spendNoted(cost: number): Taken {
    const { block, next } = this;
    const parts = [{ block, units: Math.min(cost, block.left) }];
    if (next !== undefined && cost > block.left) {
      parts.push({ block: next, units: cost - block.left });
    }
    this.spend(cost);
    return { units: cost, parts };
  }

  /** Puts units back that were spent and then not used. Those whose block is gone stay spent. */
  putBack({ parts }: Taken, units: number): void {
    let left = units;
    // The younger block first: it lives longer.
    for (const { block, units: spent } of parts.toReversed()) {
      const back = Math.min(left, spent);
      if (block === this.block || block === this.next) block.left += back;
      left -= back;
    }
  }

  /** Whether it is time to ask for the next block. */
  isLow(atMs: number): boolean {
    return this.block.left < this.lowAt || atMs >= this.renewAtMs;
  }

  /** Sets everything that is left aside for one decision; undefined if that is nothing. */
  takeAll(): Taken | undefined {
    const units = this.left;
    if (units === 0) return undefined;
    const parts = [this.block, ...(this.next === undefined ? [] : [this.next])].map((block) => {
      const part = { block, units: block.left };
      block.lent += block.left;
      block.left = 0;
      return part;
    });
    return { units, parts };
  }

  /** Puts back what was set aside. Returns the units whose block is no longer held. */
  restore({ parts }: Taken): number {
    let lost = 0;
    for (const { block, units } of parts) {
      block.lent -= units;
      if (block === this.block || block === this.next) block.left += units;
      else lost += units;
    }
    return lost;
  }

  /** Takes a block in. Returns false if there are two already. */
  add(block: Block): boolean {
    if (this.block === NOTHING) this.block = block;
    else if (this.next === undefined) this.next = block;
    else return false;
    this.arm();
    return true;
  }

  /** Removes the blocks that would expire by `untilMs` with something left, to be given back. */
  removeBefore(atMs: number, untilMs: number): Block[] {
    const isAsked = (block: Block | undefined): block is Block =>
      isBlock(block) && mayExpire(block, atMs, untilMs);
    const { block, next } = this;
    if (isAsked(next)) this.next = undefined;
    if (isAsked(block)) this.#moveUp();
    const removed = [block, next].filter(isAsked);
    if (removed.some(({ left, units }) => left > units / 2)) this.shrink();
    this.arm();
    return removed;
  }

  /** Gives everything up, what is on its way included. Returns the blocks, to be given back. */
  drop(): Block[] {
    const blocks = [this.block, this.next].filter(isBlock);
    this.block = NOTHING;
    this.next = undefined;
    this.stopAsking();
    return blocks;
  }

  /** Waits no longer for the block that is on its way: should it come, it is not kept. */
  stopAsking(): void {
    this.epoch++;
    this.askingAtMs = Number.POSITIVE_INFINITY;
    this.disarm();
  }

  /** Remembers what the store said of the counter. */
  note(verdict: Verdict, sentAtMs: number): void {
    this.#remaining = verdict.remaining;
    this.resetAtMs = sentAtMs + verdict.resetMs;
  }

  /** The units to ask for next: as many as were of use lately, and no more than is fair. */
  plan(holders: number): number {
    const fair = fairUnits(this.#remaining, holders);
    return Math.min(this.#size, fair, BLOCK_UNITS_MAX);
  }

  /** Whether the block is spent fast enough to be followed by another; adapts the size. */
  isBusy(atMs: number): boolean {
    const { block } = this;
    if (block === NOTHING) return true;
    const lifeMs = block.expiresAtMs - block.sentAtMs;
    if (block.left * 2 < block.units) {
      if (atMs - block.sentAtMs < lifeMs * FAST_SHARE) this.#size = this.#doubled();
      return true;
    }
    return (block.units - block.left) * 4 >= block.units;
  }

  /** The next block will be half as large. */
  shrink(): void {
    this.#size = Math.max(1, Math.floor(this.#size / 2));
  }

  /** Watches for the moment to ask for the next block, unless it is here or on its way. */
  arm(): void {
    const { block } = this;
    if (block === NOTHING || this.next !== undefined || this.isAsking) {
      this.disarm();
      return;
    }
    this.lowAt = block.units / 2;
    this.renewAtMs = block.expiresAtMs - (block.expiresAtMs - block.sentAtMs) * LAST_SHARE;
  }

  disarm(): void {
    this.lowAt = -1;
    this.renewAtMs = Number.POSITIVE_INFINITY;
  }

  /** Whether the block was spent early, before the next one came: it was too small. */
  #ranDryFast(atMs: number): boolean {
    const { block, next } = this;
    const lifeMs = block.expiresAtMs - block.sentAtMs;
    return block.left === 0 && next === undefined && atMs - block.sentAtMs < lifeMs * FAST_SHARE;
  }

  #doubled(): number {
    return Math.min(this.#size * 2, BLOCK_UNITS_MAX);
  }

  #moveUp(): void {
    this.block = this.next ?? NOTHING;
    this.next = undefined;
    this.arm();
  }
}

/** The most that one of `holders` processes may take ahead of what remains. */
export function fairUnits(remaining: number, holders: number): number {
  return Math.floor(remaining / (2 * holders));
}

/** Whether units of the block may still be spent. */
export function isAlive(block: Block, atMs: number, nowMs: number): boolean {
  return atMs < block.expiresAtMs && nowMs < block.endNowMs;
}

function isOver(block: Block, atMs: number, nowMs: number): boolean {
  return (block.left === 0 && block.lent === 0) || !isAlive(block, atMs, nowMs);
}

/** Whether something of a block would be lost by then, and somebody could use it. */
function mayExpire(block: Block, atMs: number, untilMs: number): boolean {
  const isSoon = block.expiresAtMs > atMs && block.expiresAtMs <= untilMs;
  return isSoon && block.left > 0 && block.lent === 0 && !block.endsForGood;
}

function isBlock(block: Block | undefined): block is Block {
  return block !== undefined && block !== NOTHING;
}
