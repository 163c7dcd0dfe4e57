// What a limiter has to answer by the pure functions alone: the states of all keys in a Map, and
// nothing of how a store keeps them. Random traces compare a store with it, step by step.

import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import { algorithmOf } from "../../algorithms/index.js";
import { lowerReceipts, type OpenReceiptNumbers } from "../../algorithms/receipts.js";
import type { Step } from "../../algorithms/step.js";
import { combine, type Decision } from "../../decision.js";
import type { Limit } from "../../limits.js";

/** The counter of one key under one limit. */
interface Cell {
  readonly limit: Limit;
  readonly offsetMs: number;
  state: unknown;
  /** What was charged and not settled yet: giving anything back amends it. */
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
    const decision = combine(weighed.map(({ cell, step }) => toDecision(cell, step)));
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
    return combine(
      this.#cellsOf(key).map((cell) => {
        const { remaining, resetMs } = weigh(cell, 0, nowMs);
        return toDecision(cell, { ...weigh(cell, cost, nowMs), remaining, resetMs });
      }),
    );
  }

  settle(held: readonly Held[], kept: number, nowMs: number): void {
    for (const one of held) {
      const { cell, receipt } = one;
      const { limit, state } = cell;
      const atMs = nowMs + cell.offsetMs;
      if (kept > receipt.cost) {
        cell.state = algorithmOf(limit).force(state, limit, kept - receipt.cost, atMs);
      } else if (kept < receipt.cost) {
        const after = algorithmOf(limit).giveBack(state, limit, { receipt, kept }, atMs);
        cell.open.delete(one);
        give(cell, after, atMs);
      }
      cell.open.delete(one);
    }
  }

  refund(key: string, cost: number, nowMs: number): void {
    for (const cell of this.#cellsOf(key)) {
      const { limit } = cell;
      const atMs = nowMs + cell.offsetMs;
      give(cell, algorithmOf(limit).grant(cell.state, limit, cost, atMs), atMs);
    }
  }

  reset(key: string, nowMs: number): void {
    for (const cell of this.#cellsOf(key)) {
      give(cell, algorithmOf(cell.limit).idle, nowMs + cell.offsetMs);
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

/** Something is given back: open charges may stand for less now. */
function give(cell: Cell, after: unknown, nowMs: number): void {
  const { limit } = cell;
  const algorithm = algorithmOf(limit);
  const open = [...cell.open];
  for (const mark of new Set(open.map(({ receipt }) => receipt.mark))) {
    const alike = open.filter(({ receipt }) => receipt.mark === mark);
    const inUse = algorithm.inUse(after, limit, mark, nowMs);
    lowerReceipts(alike, 0, { inUse, measure: algorithm.measure(limit), nowMs });
  }
  cell.state = after;
}

function weigh(cell: Cell, cost: number, nowMs: number): Step<unknown> {
  return algorithmOf(cell.limit).charge(cell.state, cell.limit, cost, nowMs + cell.offsetMs);
}

function toDecision(cell: Cell, step: Step<unknown>): Decision {
  const { allowed, remaining, retryAfterMs, resetMs, delayMs } = step;
  const { limit } = cell.limit;
  return { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source: "memory" };
}
