// What a limiter has to answer by the pure functions alone: the states of all keys in a Map, and
// nothing of how a store keeps them. Random traces compare a store with it, step by step.

import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import { algorithmOf } from "../../algorithms/index.js";
import type { Receipt, Step } from "../../algorithms/step.js";
import { combine, type Decision } from "../../decision.js";
import type { Limit } from "../../limits.js";

/** The counter of one key under one limit. */
interface Cell {
  readonly limit: Limit;
  readonly offsetMs: number;
  state: unknown;
  /** What was in use after each grant of an operator: an older receipt gives back no more. */
  readonly usedAfterGrants: number[];
}

/** What was charged to one cell. */
interface Held {
  readonly cell: Cell;
  readonly receipt: Receipt;
  /** How many grants the cell had seen by then. */
  readonly grants: number;
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

  take(key: string, cost: number, nowMs: number): ReferenceOutcome {
    const weighed = this.#cellsOf(key).map((cell) => ({ cell, step: weigh(cell, cost, nowMs) }));
    const decision = combine(weighed.map(({ cell, step }) => toDecision(cell, step)));
    if (!decision.allowed) return { decision, held: [] };
    const held = weighed.map(({ cell, step }) => {
      cell.state = step.state;
      const receipt = { cost, atMs: nowMs + cell.offsetMs, mark: step.mark };
      return { cell, receipt, grants: cell.usedAfterGrants.length };
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
    for (const { cell, receipt, grants } of held) {
      const { limit, state } = cell;
      const atMs = nowMs + cell.offsetMs;
      const usedMax = Math.min(...cell.usedAfterGrants.slice(grants), Number.POSITIVE_INFINITY);
      cell.state =
        kept > receipt.cost
          ? algorithmOf(limit).force(state, limit, kept - receipt.cost, atMs)
          : algorithmOf(limit).giveBack(state, limit, { receipt, kept, usedMax }, atMs);
    }
  }

  refund(key: string, cost: number, nowMs: number): void {
    for (const cell of this.#cellsOf(key)) {
      const { limit } = cell;
      const atMs = nowMs + cell.offsetMs;
      cell.state = algorithmOf(limit).grant(cell.state, limit, cost, atMs);
      cell.usedAfterGrants.push(algorithmOf(limit).used(cell.state, limit, atMs));
    }
  }

  reset(key: string): void {
    for (const cell of this.#cellsOf(key)) {
      cell.state = algorithmOf(cell.limit).idle;
      cell.usedAfterGrants.push(0);
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
  return { limit, offsetMs, state: algorithmOf(limit).idle, usedAfterGrants: [] };
}

function weigh(cell: Cell, cost: number, nowMs: number): Step<unknown> {
  return algorithmOf(cell.limit).charge(cell.state, cell.limit, cost, nowMs + cell.offsetMs);
}

function toDecision(cell: Cell, step: Step<unknown>): Decision {
  const { allowed, remaining, retryAfterMs, resetMs, delayMs } = step;
  const { limit } = cell.limit;
  return { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source: "memory" };
}
