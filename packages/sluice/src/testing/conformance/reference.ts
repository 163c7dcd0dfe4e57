// What a limiter has to answer by the pure functions alone: the states of all keys in a Map, and
// nothing of how a store keeps them. Random traces compare a store with it, step by step.

import { algorithmOf } from "../../algorithms/algorithms.js";
import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import { lowerReceipts, type OpenReceiptNumbers } from "../../algorithms/receipts.js";
import type { Step } from "../../algorithms/step.js";
import { combine, type Decision } from "../../base/decision.js";
import type { Limit } from "../../limits/limits.js";

/** The counter of one key under one limit. */
interface Cell {
  readonly limit: Limit;
  readonly offsetMs: number;
  state: unknown;
  /** What was charged and not settled yet: a refund amends it. */
  readonly open: Set<Held>;
}

/** What was charged to one cell. */
interface Held {
  readonly cell: Cell;
  readonly receipt: OpenReceiptNumbers;
}

/** An answer, and what it takes to settle it. */
export interface ReferenceOutcome {
  readonly decision: Decision;
  readonly held: readonly Held[];
}

/** Limits decided all or nothing, as they should be. */
export class Reference {
  readonly #limits: readonly Limit[];
  readonly #cells = new Map<string, readonly Cell[]>();
  readonly #blocks = new Map<string, { readonly untilMs: number; readonly forMs: number }>();

  constructor(limits: readonly Limit[]) {
    this.#limits = limits;
  }

  /** Charges for good. */
  take(key: string, cost: number, nowMs: number): Decision {
    const { decision, held } = this.hold(key, cost, nowMs);
    for (const one of held) one.cell.open.delete(one);
    return decision;
  }

  /** Charges what is settled later. */
  hold(key: string, cost: number, nowMs: number): ReferenceOutcome {
    const weighed = this.#cellsOf(key).map((cell) => ({ cell, step: weigh(cell, cost, nowMs) }));
    const blockedMs = this.#blockedMs(key, nowMs);
    const decision = combine(
      weighed.map(({ cell, step }) =>
        blockedMs > 0
          ? toBlocked(decisionOf(cell, step, nowMs), blockedMs)
          : toDecision(cell, step),
      ),
    );
    // What a refusal keeps differs only on a clock that went back: the same use, counted from now.
    if (!decision.allowed) {
      for (const { cell, step } of weighed) if (!step.allowed) cell.state = step.state;
      return { decision, held: [] };
    }
    const held = weighed.map(({ cell, step }) => {
      cell.state = step.state;
      const held = { cell, receipt: toReceipt(step, cost, nowMs + cell.offsetMs) };
      cell.open.add(held);
      return held;
    });
    return { decision, held };
  }

  peek(key: string, cost: number, nowMs: number): Decision {
    const blockedMs = this.#blockedMs(key, nowMs);
    return combine(
      this.#cellsOf(key).map((cell) =>
        toBlocked(decisionOf(cell, weigh(cell, cost, nowMs), nowMs), blockedMs),
      ),
    );
  }

  /** Blocks a key for this long; 0 ends a block. */
  block(key: string, forMs: number, nowMs: number): void {
    if (forMs > 0) this.#blocks.set(key, { untilMs: nowMs + forMs, forMs });
    else this.#blocks.delete(key);
  }

  /** How long a key is still blocked: never longer than intended, whatever the clock does. */
  #blockedMs(key: string, nowMs: number): number {
    const block = this.#blocks.get(key);
    if (block === undefined) return 0;
    // A block that was seen to have ended does not come back with the clock.
    if (block.untilMs <= nowMs) this.#blocks.delete(key);
    return Math.max(0, Math.min(block.untilMs - nowMs, block.forMs));
  }

  settle(held: readonly Held[], kept: number, nowMs: number): void {
    for (const one of held) {
      const { cell, receipt } = one;
      const { limit, state } = cell;
      const atMs = nowMs + cell.offsetMs;
      if (kept > receipt.cost) {
        cell.state = algorithmOf(limit).force(state, limit, kept - receipt.cost, atMs);
      } else if (kept < receipt.cost) {
        cell.state = algorithmOf(limit).refund(state, limit, { receipt, kept }, atMs);
        if (cell.state !== state) lowerYounger(one, atMs);
      }
      cell.open.delete(one);
    }
  }

  refund(key: string, cost: number, nowMs: number): void {
    for (const cell of this.#cellsOf(key)) {
      const { limit } = cell;
      const atMs = nowMs + cell.offsetMs;
      cell.state = algorithmOf(limit).grant(cell.state, limit, cost, atMs);
      lowerAll(cell, atMs);
    }
  }

  reset(key: string, nowMs: number): void {
    for (const cell of this.#cellsOf(key)) {
      cell.state = algorithmOf(cell.limit).idle;
      lowerAll(cell, nowMs + cell.offsetMs);
    }
  }

  #cellsOf(key: string): readonly Cell[] {
    const known = this.#cells.get(key);
    if (known !== undefined) return known;
    const cells = this.#limits.map((limit) => newCell(limit, key));
    this.#cells.set(key, cells);
    return cells;
  }
}

function newCell(limit: Limit, key: string): Cell {
  const isShifted = limit.algorithm === "fixedWindow" && limit.align === "key";
  const offsetMs = isShifted ? keyOffsetMs(key, limit.windowMs) : 0;
  return { limit, offsetMs, state: algorithmOf(limit).idle, open: new Set() };
}

function toReceipt(
  { mark, before }: Step<unknown>,
  cost: number,
  atMs: number,
): OpenReceiptNumbers {
  return { cost, atMs, mark, before, lowered: 0 };
}

/**
 * There was a refund. Older charges have more room than before, so only younger ones may stand for
 * less now.
 */
function lowerYounger(given: Held, nowMs: number): void {
  const open = [...given.cell.open];
  const younger = open.slice(open.indexOf(given) + 1);
  const alike = younger.filter(({ receipt }) => receipt.mark === given.receipt.mark);
  lower(given.cell, alike, nowMs);
}

/** Something was granted: any open charge may stand for less now. */
function lowerAll(cell: Cell, nowMs: number): void {
  const open = [...cell.open];
  for (const mark of new Set(open.map(({ receipt }) => receipt.mark))) {
    lower(
      cell,
      open.filter(({ receipt }) => receipt.mark === mark),
      nowMs,
    );
  }
}

/** Open charges of one mark stand for no more than what is in use of it. */
function lower(cell: Cell, alike: readonly Held[], nowMs: number): void {
  if (alike.length === 0) return;
  const { limit, state } = cell;
  const algorithm = algorithmOf(limit);
  const inUse = algorithm.inUse(state, limit, alike[0].receipt.mark, nowMs);
  lowerReceipts(alike, { inUse, measure: algorithm.measure(limit), nowMs });
}

function weigh(cell: Cell, cost: number, nowMs: number): Step<unknown> {
  return algorithmOf(cell.limit).charge(cell.state, cell.limit, cost, nowMs + cell.offsetMs);
}

/** The answer to a charge that is not taken. */
function decisionOf(cell: Cell, step: Step<unknown>, nowMs: number): Decision {
  const { remaining, resetMs } = weigh(cell, 0, nowMs);
  return toDecision(cell, { ...step, remaining, resetMs });
}

function toBlocked(decision: Decision, blockedMs: number): Decision {
  if (blockedMs === 0) return decision;
  const retryAfterMs = Math.max(blockedMs, decision.retryAfterMs);
  const resetMs = Math.max(blockedMs, decision.resetMs);
  return { ...decision, allowed: false, remaining: 0, retryAfterMs, resetMs, delayMs: 0 };
}

function toDecision(cell: Cell, step: Step<unknown>): Decision {
  const { allowed, remaining, retryAfterMs, resetMs, delayMs } = step;
  const { capacity: limit } = cell.limit;
  return { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source: "memory" };
}
