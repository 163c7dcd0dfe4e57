// What one process holds of one key's budget: at most two blocks that were debited ahead, the older
// one spent first, those that are on their way home, and how large the next should be. Nothing here
// asks a store: a holding only counts, so it can't spend what was not debited.

import type { Verdict } from "../../base/decision.js";
import { type Block, isAlive, isBlock, isOut, mayExpire, NOTHING, type Taken } from "./lease.js";

/** The first block of a key is worth so many of the decision that asked for it. */
const ASKS_FIRST = 8;
/** However fast a key is: a sum of two blocks stays exact, and far from what a limit can hold. */
const BLOCK_UNITS_MAX = 2 ** 40;
/** A block that is half spent within this share of its life was too small. */
const FAST_SHARE = 1 / 3;
/** In the last part of a block's life its successor is asked for, however much is left. */
const LAST_SHARE = 1 / 4;
/**
 * A request of which nothing was heard for so long was not refused: longer than a body may take, and
 * then a store. Refused later, it gets nothing back.
 */
const BRIEF_MS_MAX = 10_000;
/**
 * The most blocks of one key that wait for what is out, where nobody says that requests go on. Each sweep
 * returns the oldest beyond half of it as they are; should it be reached in between, one counts as spent.
 */
export const LEAVING_MAX = 64;

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
  /** Blocks that were let go: they return with the next sweep, or once nothing of them is out. */
  leaving: Block[] = [];
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

  /** Units that were not spent: those that can be, and those that are on their way home. */
  get unspent(): number {
    return this.leaving.reduce((sum, { left }) => sum + left, this.left);
  }

  /** Units of all its blocks that were spent, or may have been. */
  get spent(): number {
    const units = this.leaving.reduce((sum, block) => sum + block.units, this.block.units);
    return units + (this.next?.units ?? 0) - this.unspent;
  }

  /** Lets go of blocks that are spent or have expired. */
  advance(atMs: number, nowMs: number, retire: (block: Block) => void): void {
    const { block, next } = this;
    if (next !== undefined && (isSpent(next) || !isAlive(next, atMs, nowMs))) {
      this.next = undefined;
      this.#letGo(next, atMs, nowMs, retire);
      this.arm();
    }
    if (block === NOTHING) return;
    const isDry = isSpent(block) || this.#isOvertaken();
    if (!isDry && isAlive(block, atMs, nowMs)) return;
    if (this.#ranDryFast(atMs)) this.#size = this.#doubled();
    this.#moveUp();
    this.#letGo(block, atMs, nowMs, retire);
  }

  /** Whether the other block takes over, and what comes back to this one returns to the store. */
  #isOvertaken(): boolean {
    const { block, next } = this;
    return next !== undefined && block.left === 0 && block.lent === 0;
  }

  /** What is spent, or of no use any more, is retired; a block with anything to return is leaving. */
  #letGo(block: Block, atMs: number, nowMs: number, retire: (block: Block) => void): void {
    const hasEnded = block.endsForGood && !isAlive(block, atMs, nowMs);
    const isFull = this.leaving.length >= LEAVING_MAX;
    if (isSpent(block) || hasEnded || isFull) retire(block);
    else this.#leave(block, atMs);
  }

  #leave(block: Block, atMs: number): void {
    block.waitsUntilMs = atMs + BRIEF_MS_MAX;
    this.leaving.push(block);
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

  /** Spends what is covered, for a request that may still be refused, and says of which blocks. */
  spendBriefly(cost: number): Taken {
    const { block, next } = this;
    const parts = [{ block, units: Math.min(cost, block.left) }];
    if (next !== undefined && cost > block.left) {
      parts.push({ block: next, units: cost - block.left });
    }
    for (const part of parts) {
      part.block.left -= part.units;
      part.block.brief += part.units;
    }
    return { units: cost, parts };
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

  /** Takes a block in. Returns false if there are two already. */
  add(block: Block): boolean {
    if (this.block === NOTHING) this.block = block;
    else if (this.next === undefined) this.next = block;
    else return false;
    this.arm();
    return true;
  }

  /** Lets go of the blocks that would expire by `untilMs` with something left. */
  leaveBefore(atMs: number, untilMs: number): void {
    const isAsked = (block: Block | undefined): block is Block =>
      isBlock(block) && mayExpire(block, atMs, untilMs);
    const { block, next } = this;
    if (isAsked(next)) this.next = undefined;
    if (isAsked(block)) this.#moveUp();
    const asked = [block, next].filter(isAsked);
    for (const one of asked) this.#leave(one, atMs);
    if (asked.some(({ left, units }) => left > units / 2)) this.shrink();
    this.arm();
  }

  /** Lets go of all blocks, and waits for none that is on its way. */
  leaveAll(atMs: number): void {
    for (const block of [this.block, this.next]) if (isBlock(block)) this.#leave(block, atMs);
    this.#clear();
  }

  /** Removes the blocks that wait for nothing any more, to be given back. */
  takeLeaving(atMs: number): readonly Block[] {
    if (this.leaving.length === 0) return this.leaving;
    const excess = this.leaving.length - LEAVING_MAX / 2;
    const ready: Block[] = [];
    const rest: Block[] = [];
    for (const [i, block] of this.leaving.entries()) {
      const isReady = !isOut(block) || atMs >= block.waitsUntilMs || i < excess;
      (isReady ? ready : rest).push(block);
    }
    this.leaving = rest;
    return ready;
  }

  /** Gives everything up, what is out and on its way included. Returns the blocks, to be given back. */
  drop(): Block[] {
    const blocks = [...this.leaving, this.block, this.next].filter(isBlock);
    this.leaving = [];
    this.#clear();
    return blocks;
  }

  #clear(): void {
    this.block = NOTHING;
    this.next = undefined;
    this.stopAsking();
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

/** Whether nothing of the block can be spent, now or later. */
function isSpent(block: Block): boolean {
  return block.left === 0 && !isOut(block);
}
