// The counters of a log or concurrency limit: the slot holds the ends of a list in the arena and
// its total. A full arena refuses, and counts it, after looking for lists that have expired.

import { costAt, expiresAtMsMax, lifeMs, weigh } from "../../algorithms/entries.js";
import { unitsBack } from "../../algorithms/receipts.js";
import type { Settlement } from "../../algorithms/step.js";
import type { Verdict } from "../../decision.js";
import type { EntryLimit } from "../../limits.js";
import { type Arena, ArenaList } from "./arena.js";
import { type AnyStep, type Cells, toVerdict } from "./cells.js";
import type { Table } from "./table.js";

/** The ends of a list as two 32-bit integers, and its total. */
export const ENTRY_STATE_DOUBLES = 2;

/** How many slots a full arena is searched for expired lists before it refuses. */
const SWEEP_SLOTS_MAX = 512;

/** Shared by all entry cells of a store. */
export interface EntryShelf {
  readonly arena: Arena;
  /** Charges refused because the arena was full. */
  refusals: number;
}

export class EntryCells implements Cells {
  readonly limit: EntryLimit;
  readonly id: number;
  readonly table: Table;
  readonly #shelf: EntryShelf;
  #sweepAt = 0;

  constructor(limit: EntryLimit, id: number, table: Table, shelf: EntryShelf) {
    this.limit = limit;
    this.id = id;
    this.table = table;
    this.#shelf = shelf;
  }

  weigh(slot: number, cost: number, nowMs: number, entriesWanted: number): AnyStep {
    return this.#weigh(this.#live(slot, nowMs), cost, nowMs, entriesWanted);
  }

  decide(slot: number, cost: number, nowMs: number): Verdict {
    const list = this.#live(slot, nowMs);
    const step = this.#weigh(list, cost, nowMs, 1);
    if (step.allowed && cost > 0) {
      this.#shelf.arena.insert(list, step.mark, cost);
      this.#save(slot, list);
    }
    return toVerdict(step, this.limit.limit);
  }

  keep(slot: number, step: AnyStep, cost: number, isNew: boolean): void {
    this.#insert(slot, step.mark, cost, isNew);
  }

  force(slot: number, cost: number, nowMs: number, isNew: boolean): void {
    this.#insert(slot, nowMs + lifeMs(this.limit), cost, isNew);
  }

  giveBack(slot: number, settlement: Settlement, nowMs: number): void {
    const list = this.#live(slot, nowMs);
    this.#shelf.arena.remove(list, settlement.receipt.mark, unitsBack(settlement));
    this.#save(slot, list);
  }

  grant(slot: number, cost: number, nowMs: number): void {
    const list = this.#live(slot, nowMs);
    this.#shelf.arena.dropOldest(list, cost);
    this.#save(slot, list);
  }

  inUse(slot: number, mark: number, nowMs: number): number {
    return costAt(this.#live(slot, nowMs), mark);
  }

  share(slot: number, nowMs: number): number {
    return this.#live(slot, nowMs).used / this.limit.limit;
  }

  clear(slot: number): void {
    const list = this.#load(slot);
    this.#shelf.arena.clear(list);
    this.#save(slot, list);
  }

  adopt(slot: number, from: Cells, fromSlot: number, nowMs: number): void {
    if (!(from instanceof EntryCells)) return;
    const list = from.#live(fromSlot, nowMs);
    this.#shelf.arena.dropOldest(list, list.used - this.limit.limit);
    this.#save(slot, list);
  }

  #weigh(live: ArenaList, cost: number, nowMs: number, entriesWanted: number): AnyStep {
    const step = weigh(live, this.limit, cost, nowMs);
    if (!step.allowed || cost === 0 || this.#hasRoom(entriesWanted, nowMs)) return step;
    this.#shelf.refusals++;
    // Nobody knows when an entry comes free; after its own life every entry of today has.
    const retryAfterMs = lifeMs(this.limit);
    const remaining = Math.max(0, this.limit.limit - live.used);
    return { ...step, allowed: false, retryAfterMs, remaining, resetMs: untilLastMs(live, nowMs) };
  }

  #insert(slot: number, expiresAtMs: number, cost: number, isNew: boolean): void {
    const list = isNew ? new ArenaList(this.#shelf.arena) : this.#load(slot);
    if (!this.#shelf.arena.insert(list, expiresAtMs, cost)) this.#shelf.refusals++;
    this.#save(slot, list);
  }

  /** The list without what has expired; that is gone from the arena too. */
  #live(slot: number, nowMs: number): ArenaList {
    if (slot < 0) return new ArenaList(this.#shelf.arena);
    const list = this.#load(slot);
    this.#shelf.arena.expire(list, nowMs);
    this.#shelf.arena.bringForward(list, expiresAtMsMax(this.limit, nowMs));
    this.#save(slot, list);
    return list;
  }

  #hasRoom(entriesWanted: number, nowMs: number): boolean {
    const { arena } = this.#shelf;
    for (let seen = 0; arena.room < entriesWanted && seen < SWEEP_SLOTS_MAX; seen++) {
      this.#sweepAt = (this.#sweepAt + 1) % this.table.slots;
      if (this.table.idOf(this.#sweepAt) === this.id) this.#live(this.#sweepAt, nowMs);
    }
    return arena.room >= entriesWanted;
  }

  #load(slot: number): ArenaList {
    const at = this.table.stateAt(slot);
    const list = new ArenaList(this.#shelf.arena);
    list.head = this.table.words[2 * at];
    list.tail = this.table.words[2 * at + 1];
    list.used = this.table.doubles[at + 1];
    return list;
  }

  #save(slot: number, list: ArenaList): void {
    const at = this.table.stateAt(slot);
    this.table.words[2 * at] = list.head;
    this.table.words[2 * at + 1] = list.tail;
    this.table.doubles[at + 1] = list.used;
  }
}

function untilLastMs(live: ArenaList, nowMs: number): number {
  return Math.max(0, live.lastExpiresAtMs - nowMs);
}
