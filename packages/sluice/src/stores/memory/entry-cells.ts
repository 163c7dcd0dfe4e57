// The counters of a log or concurrency limit: the slot holds the ends of a list in the arena and
// its total. A full arena refuses, and counts it, after looking for lists that have expired.

import { costAt, expiresAtMsMax, lifeMs, weigh } from "../../algorithms/entries.js";
import { unitsBack } from "../../algorithms/receipts.js";
import type { Settlement } from "../../algorithms/step.js";
import type { Verdict } from "../../decision.js";
import type { EntryLimit } from "../../limits.js";
import { type Arena, type ArenaList, emptyList } from "./arena.js";
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
    const list = this.#live(slot, nowMs);
    const answer = weigh(this.#shelf.arena.view(list), this.limit, cost, nowMs);
    if (!answer.allowed || cost === 0 || this.#hasRoom(entriesWanted, nowMs)) {
      return { ...answer, state: undefined };
    }
    this.#shelf.refusals++;
    // Nobody knows when an entry comes free; after its own life every entry of today has.
    const retryAfterMs = lifeMs(this.limit);
    const remaining = Math.max(0, this.limit.limit - list.used);
    return { ...answer, allowed: false, retryAfterMs, remaining, state: undefined };
  }

  decide(slot: number, cost: number, nowMs: number): Verdict {
    const step = this.weigh(slot, cost, nowMs, 1);
    if (step.allowed && cost > 0) this.keep(slot, step, cost, false);
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
    return costAt(this.#shelf.arena.view(this.#live(slot, nowMs)), mark);
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

  #insert(slot: number, expiresAtMs: number, cost: number, isNew: boolean): void {
    const list = isNew ? emptyList() : this.#load(slot);
    if (!this.#shelf.arena.insert(list, expiresAtMs, cost)) this.#shelf.refusals++;
    this.#save(slot, list);
  }

  /** The list without what has expired; that is gone from the arena too. */
  #live(slot: number, nowMs: number): ArenaList {
    if (slot < 0) return emptyList();
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
    const { words, doubles } = this.table;
    return { head: words[2 * at], tail: words[2 * at + 1], used: doubles[at + 1] };
  }

  #save(slot: number, list: ArenaList): void {
    const at = this.table.stateAt(slot);
    this.table.words[2 * at] = list.head;
    this.table.words[2 * at + 1] = list.tail;
    this.table.doubles[at + 1] = list.used;
  }
}
