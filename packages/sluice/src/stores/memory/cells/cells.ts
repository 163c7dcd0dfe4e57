// The counters of one limit inside a table: what a slot means, and what charging, refunding and
// forgetting do to it. Most limits keep a few numbers in the slot itself.

import type { CarryTimes, Settlement, Step } from "../../../algorithms/step.js";
import type { Verdict } from "../../../base/decision.js";
import type { Limit } from "../../../limits/limits.js";
import type { SlotTable } from "../table/slot-table.js";
import type { Table } from "../table/table.js";
import { type Codec, codecOf, type ValueLimit } from "./codecs.js";

/** A step as stores pass it on: what is inside its state is the business of its cells. */
export type AnyStep = Step<unknown>;

/** The verdict of a step under a limit of `limit` units. */
export function toVerdict(step: AnyStep, limit: number): Verdict {
  return {
    allowed: step.allowed,
    limit,
    remaining: step.remaining,
    retryAfterMs: step.retryAfterMs,
    resetMs: step.resetMs,
    delayMs: step.delayMs,
    source: "memory",
  };
}

/** Slot -1 stands for a key that has no slot: it is idle. */
export interface Cells {
  readonly limit: Limit;
  /** Distinguishes this limit's slots from others' in the same table. */
  readonly id: number;
  readonly table: SlotTable;
  /** Whether the doubles of a slot are all there is to know of its key. */
  readonly isAllInSlot: boolean;
  /** Decides a charge and takes nothing. `entriesWanted`: how many its request may add in all. */
  weigh(slot: number, cost: number, nowMs: number, entriesWanted: number): AnyStep;
  /** Decides a charge on a slot in use and takes it: the hot path. */
  decide(slot: number, cost: number, nowMs: number): Verdict;
  /**
   * Takes a charge that was weighed just before. `isNew`: the slot was claimed for it. `isHeld`: it may be refunded
   * soon.
   */
  keep(
    slot: number,
    step: AnyStep,
    cost: number,
    isNew: boolean,
    nowMs: number,
    isHeld: boolean,
  ): void;
  force(slot: number, cost: number, nowMs: number, isNew: boolean): void;
  /** Returns whether anything was refunded; if not, nothing has changed. */
  refund(slot: number, settlement: Settlement, nowMs: number): boolean;
  grant(slot: number, cost: number, nowMs: number): void;
  /** Forgets what the key used, and frees its slot. */
  reset(slot: number, nowMs: number): void;
  /** What is in use of the window or entry with this mark, in the algorithm's own measure. */
  inUse(slot: number, mark: number, nowMs: number): number;
  share(slot: number, nowMs: number): number;
  /** Lets go of what the slot holds outside itself. */
  clear(slot: number): void;
  /**
   * For a charge that takes nothing, because it was refused or costs 0: keeps the same use, counted from
   * now if the clock stepped back.
   */
  keepUse(slot: number, cost: number, nowMs: number): void;
  /** Takes over what `from` kept of the same key, in this or another table. */
  adopt(slot: number, from: Cells, fromSlot: number, times: CarryTimes): void;
}

/** Cells whose state is a few numbers in the slot. */
export class ValueCells implements Cells {
  readonly limit: ValueLimit;
  readonly id: number;
  readonly table: Table;
  readonly isAllInSlot = true;
  readonly #codec: Codec<unknown, ValueLimit>;

  constructor(limit: ValueLimit, id: number, table: Table) {
    this.limit = limit;
    this.id = id;
    this.table = table;
    this.#codec = codecOf(limit);
  }

  weigh(slot: number, cost: number, nowMs: number): AnyStep {
    const { algorithm } = this.#codec;
    if (slot < 0) return algorithm.charge(algorithm.idle, this.limit, cost, nowMs);
    return algorithm.charge(this.#read(slot, nowMs), this.limit, cost, nowMs);
  }

  // One function around the algorithm lets the compiler see that state and step don't outlive it: in a loop of
  // checks neither is ever allocated. In a server it inlines less, and `pass` needs neither (bench http/fastify).
  decide(slot: number, cost: number, nowMs: number): Verdict {
    const codec = this.#codec;
    const { limit } = this;
    const { doubles } = this.table;
    const at = this.table.stateAt(slot);
    const passed = codec.pass?.(doubles, at, limit, cost, nowMs);
    if (passed !== undefined) return passed;
    const state = codec.read(doubles, at, limit, nowMs);
    const step = codec.algorithm.charge(state, limit, cost, nowMs);
    if (step.state !== state) codec.write(doubles, at, limit, step.state);
    return toVerdict(step, limit.capacity);
  }

  keepUse(slot: number, cost: number, nowMs: number): void {
    this.decide(slot, cost, nowMs);
  }

  keep(slot: number, step: AnyStep): void {
    this.#write(slot, step.state);
  }

  force(slot: number, cost: number, nowMs: number, isNew: boolean): void {
    const { algorithm } = this.#codec;
    const state = isNew ? algorithm.idle : this.#read(slot, nowMs);
    this.#write(slot, algorithm.force(state, this.limit, cost, nowMs));
  }

  refund(slot: number, settlement: Settlement, nowMs: number): boolean {
    const state = this.#read(slot, nowMs);
    const after = this.#codec.algorithm.refund(state, this.limit, settlement, nowMs);
    if (after === state) return false;
    this.#write(slot, after);
    return true;
  }

  grant(slot: number, cost: number, nowMs: number): void {
    const state = this.#read(slot, nowMs);
    this.#write(slot, this.#codec.algorithm.grant(state, this.limit, cost, nowMs));
  }

  reset(slot: number): void {
    this.table.free(slot);
  }

  inUse(slot: number, mark: number, nowMs: number): number {
    return this.#codec.algorithm.inUse(this.#read(slot, nowMs), this.limit, mark, nowMs);
  }

  share(slot: number, nowMs: number): number {
    return this.#codec.algorithm.share(this.#read(slot, nowMs), this.limit, nowMs);
  }

  clear(): void {
    // Everything is in the slot.
  }

  adopt(slot: number, from: Cells, fromSlot: number, times: CarryTimes): void {
    const { algorithm } = this.#codec;
    // Another algorithm has the same fingerprint only by accident: nothing can be taken over.
    const isAlike = from instanceof ValueCells && from.limit.algorithm === this.limit.algorithm;
    const state = isAlike
      ? algorithm.carry(from.#read(fromSlot, times.fromMs), from.limit, this.limit, times)
      : algorithm.idle;
    if (!isAlike) from.clear(fromSlot);
    this.#write(slot, state);
  }

  #read(slot: number, nowMs: number): unknown {
    return this.#codec.read(this.table.doubles, this.table.stateAt(slot), this.limit, nowMs);
  }

  #write(slot: number, state: unknown): void {
    this.#codec.write(this.table.doubles, this.table.stateAt(slot), this.limit, state);
  }
}
