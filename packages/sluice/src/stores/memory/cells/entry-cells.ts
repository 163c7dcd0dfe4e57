// The counters of a log or concurrency limit: the slot holds the ends of a list in the arena and
// its total. A full arena refuses, and counts it, after looking for lists that have expired.

import {
  costAt,
  type EntryList,
  expiresAtMsMax,
  forcedCost,
  lifeMs,
  liveAt,
  toList,
  weigh,
} from "../../../algorithms/entries.js";
import { unitsBack } from "../../../algorithms/receipts.js";
import type { CarryTimes, Settlement } from "../../../algorithms/step.js";
import type { Verdict } from "../../../base/decision.js";
import type { EntryLimit } from "../../../limits/limits.js";
import type { Table } from "../table/table.js";
import { type Arena, ArenaList } from "./arena.js";
import { type AnyStep, type Cells, toVerdict } from "./cells.js";

/** The ends of a list as two 32-bit integers, and its total. */
export const ENTRY_STATE_DOUBLES = 2;

/** How many slots are looked through for expired lists when an arena has no room left. */
const SWEEP_SLOTS_MAX = 512;
/** And how many with each new entry once less than a quarter of it is left. */
const SWEEP_SLOTS_AHEAD = 8;
/** The longest pause between two sweeps over all slots. */
const SWEEP_REST_MS_MAX = 1_000;

/** An arena and all the cells that keep their lists in it. */
export class EntryShelf {
  readonly arena: Arena;
  /** Charges refused because the arena was full. */
  refusals = 0;
  readonly #cellsById = new Map<number, EntryCells>();
  readonly #tables: Table[] = [];
  #sweepTable = 0;
  #sweepSlot = 0;
  /** When the first of the entries expires that this sweep has seen so far. */
  #earliestMs = Number.POSITIVE_INFINITY;
  /** When the last sweep ended, and until when there is no point in another one. */
  #sweptAtMs = 0;
  #restsUntilMs = 0;

  constructor(arena: Arena) {
    this.arena = arena;
  }

  add(cells: EntryCells): void {
    this.#cellsById.set(cells.id, cells);
    if (!this.#tables.includes(cells.table)) this.#tables.push(cells.table);
  }

  /** The id goes to other cells, whose slots may hold no lists: what is there must not be swept as one. */
  remove(id: number): void {
    this.#cellsById.delete(id);
  }

  /** Whether that many entries fit, after looking for lists that have expired. */
  hasRoom(entries: number, nowMs: number): boolean {
    const { arena } = this;
    if (arena.room > arena.entriesMax / 4) return true;
    // A flood must not pay for sweeping again and again over entries that have not expired yet.
    const isResting = nowMs >= this.#sweptAtMs && nowMs < this.#restsUntilMs;
    if (isResting) return arena.room >= entries;
    for (let i = 0; i < SWEEP_SLOTS_AHEAD; i++) this.#sweepOne(nowMs);
    for (let i = 0; arena.room < entries && i < SWEEP_SLOTS_MAX; i++) this.#sweepOne(nowMs);
    return arena.room >= entries;
  }

  #sweepOne(nowMs: number): void {
    const table = this.#tables[this.#sweepTable];
    const cells = this.#cellsById.get(table.idOf(this.#sweepSlot));
    const expiresAtMs = cells?.sweep(this.#sweepSlot, nowMs) ?? Number.POSITIVE_INFINITY;
    this.#earliestMs = Math.min(this.#earliestMs, expiresAtMs);
    this.#sweepSlot++;
    if (this.#sweepSlot < table.slots) return;
    this.#sweepSlot = 0;
    this.#sweepTable = (this.#sweepTable + 1) % this.#tables.length;
    if (this.#sweepTable === 0) this.#rest(nowMs);
  }

  /** Ends a sweep. Entries that were added or moved during it are found by the next one. */
  #rest(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    this.#restsUntilMs = Math.min(this.#earliestMs, nowMs + SWEEP_REST_MS_MAX);
    this.#earliestMs = Number.POSITIVE_INFINITY;
  }
}

export class EntryCells implements Cells {
  readonly limit: EntryLimit;
  readonly id: number;
  readonly table: Table;
  readonly isAllInSlot = false;
  readonly #shelf: EntryShelf;

  constructor(limit: EntryLimit, id: number, table: Table, shelf: EntryShelf) {
    this.limit = limit;
    this.id = id;
    this.table = table;
    this.#shelf = shelf;
    shelf.add(this);
  }

  weigh(slot: number, cost: number, nowMs: number, entriesWanted: number): AnyStep {
    return this.#weigh(this.#peekLive(slot, nowMs), cost, nowMs, entriesWanted);
  }

  decide(slot: number, cost: number, nowMs: number): Verdict {
    const list = this.#live(slot, nowMs);
    const step = this.#weigh(list, cost, nowMs, 1);
    if (step.allowed && cost > 0) {
      this.#shelf.arena.insert(list, step.mark, cost);
      this.#save(slot, list);
    }
    return toVerdict(step, this.limit.capacity);
  }

  keep(slot: number, step: AnyStep, cost: number, isNew: boolean, nowMs: number): void {
    const list = isNew ? new ArenaList(this.#shelf.arena) : this.#live(slot, nowMs);
    this.#insert(slot, list, step.mark, cost);
  }

  keepUse(slot: number, _cost: number, nowMs: number): void {
    this.#live(slot, nowMs);
  }

  /** Drops expired entries. Returns when the next one expires; Infinity if none is left. */
  sweep(slot: number, nowMs: number): number {
    const list = this.#live(slot, nowMs);
    return list.used === 0 ? Number.POSITIVE_INFINITY : list.firstExpiresAtMs;
  }

  force(slot: number, cost: number, nowMs: number, isNew: boolean): void {
    const list = isNew ? new ArenaList(this.#shelf.arena) : this.#live(slot, nowMs);
    this.#insert(slot, list, nowMs + lifeMs(this.limit), forcedCost(list, cost));
  }

  refund(slot: number, settlement: Settlement, nowMs: number): boolean {
    const back = unitsBack(settlement);
    if (back === 0) return false;
    const list = this.#live(slot, nowMs);
    this.#shelf.arena.remove(list, settlement.receipt.mark, back);
    this.#save(slot, list);
    return true;
  }

  grant(slot: number, cost: number, nowMs: number): void {
    const list = this.#live(slot, nowMs);
    this.#shelf.arena.dropOldest(list, cost);
    this.#save(slot, list);
  }

  reset(slot: number): void {
    this.clear(slot);
    this.table.free(slot);
  }

  inUse(slot: number, mark: number, nowMs: number): number {
    return costAt(this.#live(slot, nowMs), mark);
  }

  share(slot: number, nowMs: number): number {
    return this.#live(slot, nowMs).used / this.limit.capacity;
  }

  clear(slot: number): void {
    const list = this.#load(slot);
    this.#shelf.arena.clear(list);
    this.#save(slot, list);
  }

  adopt(slot: number, from: Cells, fromSlot: number, times: CarryTimes): void {
    const isAlike = from instanceof EntryCells && from.limit.algorithm === this.limit.algorithm;
    const list = isAlike ? from.#live(fromSlot, times.fromMs) : new ArenaList(this.#shelf.arena);
    if (!isAlike) from.clear(fromSlot);
    // Running work can't be clipped: permits beyond a smaller limit stay until released.
    const excess = this.limit.algorithm === "concurrency" ? 0 : list.used - this.limit.capacity;
    this.#shelf.arena.dropOldest(list, excess);
    this.#save(slot, list);
  }

  #weigh(live: EntryList, cost: number, nowMs: number, entriesWanted: number): AnyStep {
    const step = weigh(live, this.limit, cost, nowMs);
    if (!step.allowed || cost === 0 || this.#shelf.hasRoom(entriesWanted, nowMs)) return step;
    this.#shelf.refusals++;
    // It is unknown when an entry comes free; after its own life every entry of today has.
    const retryAfterMs = lifeMs(this.limit);
    const remaining = Math.max(0, this.limit.capacity - live.used);
    return { ...step, allowed: false, retryAfterMs, remaining, resetMs: untilLastMs(live, nowMs) };
  }

  #insert(slot: number, list: ArenaList, expiresAtMs: number, cost: number): void {
    if (!this.#shelf.arena.insert(list, expiresAtMs, cost)) this.#shelf.refusals++;
    this.#save(slot, list);
  }

  /** The list as it would be at `nowMs`, and nothing changed: a peek may be at any time. */
  #peekLive(slot: number, nowMs: number): EntryList {
    const list = slot < 0 ? new ArenaList(this.#shelf.arena) : this.#load(slot);
    const isAsItIs =
      list.firstExpiresAtMs > nowMs && list.lastExpiresAtMs <= expiresAtMsMax(this.limit, nowMs);
    return list.used === 0 || isAsItIs ? list : toList(liveAt([...list], this.limit, nowMs));
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

function untilLastMs(live: EntryList, nowMs: number): number {
  return Math.max(0, live.lastExpiresAtMs - nowMs);
}
