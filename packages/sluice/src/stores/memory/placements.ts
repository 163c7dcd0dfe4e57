// Which table, layout and salt belong to a counter. Tables are shared by limits whose state has
// the same size and whose recovery takes a similar time, since only among those it is fair to
// compare what forgetting costs: a flood under a short limit can't flush monthly counters.

import { BoundedMap } from "../../base/bounded-map.js";
import { SluiceError } from "../../base/errors.js";
import type { EntryLimit, Limit, SketchLimit } from "../../limits/limits.js";
import type { Counter } from "../store.js";
import { Arena } from "./cells/arena.js";
import { type Cells, ValueCells } from "./cells/cells.js";
import { codecOf } from "./cells/codecs.js";
import { ENTRY_STATE_DOUBLES, EntryCells, EntryShelf } from "./cells/entry-cells.js";
import type { KeyHash } from "./hash.js";
import { MemoryFence } from "./memory-fence.js";
import { SketchCells } from "./sketch/sketch-cells.js";
import { Sketches } from "./sketch/sketches.js";
import type { SlotTable } from "./table/slot-table.js";
import { ID_MAX, type SlotOwner, Table } from "./table/table.js";

/** What the store knows of one counter. */
export interface Placement {
  readonly cells: Cells;
  /** Mixed into fingerprints, so that the same key under two counters has two slots. */
  readonly saltLow: number;
  readonly saltHigh: number;
  /** The same for the blocks of the counter's scope. */
  readonly blockSaltLow: number;
  readonly blockSaltHigh: number;
  /** Every table in which the counter has had state, under these or other numbers. */
  readonly tables: readonly SlotTable[];
  /**
   * Whether it may be cached: that of a forgotten counter is valid for the current call only, and that of one with an
   * epoch has to be looked up, and the epoch checked, each time.
   */
  readonly isKept: boolean;
}

/** The part of the store that knows what slots mean. */
export interface PlacementOwner extends SlotOwner {
  /** Called just before a slot is freed because no counter uses its limit. */
  drop(slot: number, id: number): void;
}

/** Bounds of the tables and arenas. */
export interface PlacementBounds {
  readonly keysMax: number;
  readonly logEntriesMax: number;
  readonly permitsMax: number;
}

const RECOVERY_CLASSES_MS = [60_000, 3_600_000, Number.POSITIVE_INFINITY];

/** Beyond this many counters, new ones with equal numbers share an id, and with it their share of a table. */
const IDS_OWN_MAX = 16_384;

/** How many unused ids are reclaimed in one walk over the tables. */
const UNUSED_MAX = 1_024;

/** How many sketches that no counter uses are kept for one that may come back, as in a reload. */
const SKETCHES_UNUSED_MAX = 4;

/** How many names are remembered; a forgotten one whose numbers change no longer finds its state in another table. */
const NAMES_MAX = 65_536;

export class Placements {
  readonly tables = new Map<string, Table>();
  readonly sketches = new Sketches();
  readonly #bounds: PlacementBounds;
  readonly #saltHash: KeyHash;
  readonly #owner: PlacementOwner;
  readonly fence: MemoryFence = new MemoryFence();
  readonly #cells = new Map<string, Cells>();
  readonly #cellsById: Cells[] = [];
  /** How many counters use an id, and the name of its cells. */
  readonly #usersOf: number[] = [];
  readonly #nameOf: string[] = [];
  /** Ids that no counter uses. Until they are reclaimed, a new counter of the same name continues the count. */
  readonly #unused = new Set<number>();
  readonly #freeIds: number[] = [];
  #lastId = 0;
  readonly #byCounter = new WeakMap<Counter, Placement>();
  readonly #forgotten = new WeakSet<Counter>();
  readonly #tablesByName = new BoundedMap<string, SlotTable[]>(NAMES_MAX);
  readonly #shelves = new Map<string, EntryShelf>();

  constructor(bounds: PlacementBounds, saltHash: KeyHash, owner: PlacementOwner) {
    this.#bounds = bounds;
    this.#saltHash = saltHash;
    this.#owner = owner;
  }

  /** The cells that wrote a slot with this id. */
  cellsById(id: number): Cells {
    return this.#cellsById[id];
  }

  get shelves(): readonly EntryShelf[] {
    return [...this.#shelves.values()];
  }

  /** Makes the table of a limit, and where its entries are kept; of a sketch, that of the counter. */
  prepare(limit: Limit, counter?: Counter): void {
    if (isSketch(limit)) {
      // A sketch is counted in this process and has no epoch, so the time does not matter.
      if (counter !== undefined && counter.epoch === undefined) this.of(counter, 0);
      return;
    }
    this.#tableFor(limit);
    if (hasEntries(limit)) this.#shelfFor(limit.algorithm);
  }

  /**
   * The placement of a counter, made on first sight.
   *
   * @throws SluiceError `SLUICE_HOME_FENCED` if the counter has an epoch under which this store is not home.
   */
  of(counter: Counter, nowMs: number): Placement {
    const { epoch } = counter;
    if (epoch !== undefined) this.fence.mustBeHome(epoch, nowMs);
    const known = this.#byCounter.get(counter);
    if (known !== undefined) return known;
    const isUsed = !this.#forgotten.has(counter);
    const placement = this.#open(counter, isUsed && epoch === undefined);
    const { id } = placement.cells;
    if (isUsed) {
      this.#byCounter.set(counter, placement);
      this.#usersOf[id]++;
      this.#unused.delete(id);
    } else if (this.#usersOf[id] === 0) this.#unused.add(id);
    return placement;
  }

  /**
   * Says that a counter is no longer used; open receipts can still be settled. Some time after the last counter with
   * its id is forgotten, the id is reclaimed, and the keys under it are dropped.
   */
  forget(counter: Counter): void {
    this.#forgotten.add(counter);
    const placement = this.#byCounter.get(counter);
    if (placement === undefined) return;
    this.#byCounter.delete(counter);
    const { id, limit } = placement.cells;
    this.#usersOf[id]--;
    if (this.#usersOf[id] > 0) return;
    this.#unused.add(id);
    const isSpare = isSketch(limit) && this.#hasSpareSketches();
    if (this.#unused.size >= UNUSED_MAX || isSpare) this.#takeBack();
  }

  #hasSpareSketches(): boolean {
    let sketches = 0;
    for (const id of this.#unused) if (this.#cellsById[id] instanceof SketchCells) sketches++;
    return sketches > SKETCHES_UNUSED_MAX;
  }

  #takeBack(): void {
    for (const table of this.tables.values()) {
      table.freeAll(this.#unused, (slot, id) => this.#owner.drop(slot, id));
    }
    for (const id of this.#unused) {
      this.#cells.delete(this.#nameOf[id]);
      const cells = this.#cellsById[id];
      if (cells instanceof SketchCells) this.sketches.leave(cells.counts);
      for (const shelf of this.#shelves.values()) shelf.remove(id);
      this.#freeIds.push(id);
    }
    this.#unused.clear();
  }

  /**
   * The salt of a name, apart from that of any other. It comes from a hash of its own: with that
   * of the keys, a key that spells out a name would cancel the salt of that name.
   */
  salt(...parts: readonly (string | number)[]): { low: number; high: number } {
    this.#saltHash.hash(JSON.stringify(parts));
    return { low: this.#saltHash.low, high: this.#saltHash.high };
  }

  #open(counter: Counter, isKept: boolean): Placement {
    const { scope, part, limit } = counter;
    const cells = this.#cellsOf(counter);
    const salt = this.salt("counter", scope, part, limit.algorithm);
    const blockSalt = this.salt("block", scope);
    return {
      cells,
      saltLow: salt.low,
      saltHigh: salt.high,
      blockSaltLow: blockSalt.low,
      blockSaltHigh: blockSalt.high,
      tables: this.#tablesOf(counter, cells),
      isKept,
    };
  }

  /** One list for all placements of a name: those made before see the tables that came later. */
  #tablesOf({ scope, part, limit }: Counter, { table }: Cells): readonly SlotTable[] {
    // Each sketch answers for every key, and follows the one before it.
    if (isSketch(limit)) return [table];
    const name = JSON.stringify([scope, part, limit.algorithm]);
    const tables = this.#tablesByName.get(name) ?? [];
    if (!tables.includes(table)) tables.push(table);
    this.#tablesByName.set(name, tables);
    return tables;
  }

  /** The cells of a counter: its own while ids last, so that it has a fair share of its table. */
  #cellsOf({ scope, part, limit }: Counter): Cells {
    const own = JSON.stringify([scope, part, limit]);
    const isOwn = this.#cells.has(own) || this.#cells.size < IDS_OWN_MAX;
    const name = isOwn ? own : JSON.stringify(limit);
    const known = this.#cells.get(name);
    if (known !== undefined && this.#isInForce(known)) return known;
    const id = this.#newId();
    const cells = isSketch(limit)
      ? new SketchCells(limit, id, this.sketches.join({ scope, part }, limit))
      : this.#newCells(limit, id);
    this.#cells.set(name, cells);
    this.#cellsById[id] = cells;
    this.#usersOf[id] = 0;
    this.#nameOf[id] = name;
    return cells;
  }

  /** Whether nothing was counted under other numbers since, which a sketch would not know of. */
  #isInForce(cells: Cells): boolean {
    return !(cells instanceof SketchCells) || this.sketches.isLatest(cells.counts);
  }

  #newId(): number {
    const id = this.#freeIds.pop() ?? this.#lastId + 1;
    if (id > ID_MAX) throw new SluiceError("SLUICE_TOO_MANY_LIMITS", `got ${id}`);
    this.#lastId = Math.max(this.#lastId, id);
    return id;
  }

  #newCells(limit: Exclude<Limit, SketchLimit>, id: number): Cells {
    const table = this.#tableFor(limit);
    if (!hasEntries(limit)) return new ValueCells(limit, id, table);
    return new EntryCells(limit, id, table, this.#shelfFor(limit.algorithm));
  }

  #tableFor(limit: Exclude<Limit, SketchLimit>): Table {
    const stateDoubles = hasEntries(limit) ? ENTRY_STATE_DOUBLES : codecOf(limit).stateDoubles;
    const recovery = RECOVERY_CLASSES_MS.findIndex((ms) => limit.recoveryMs <= ms);
    const name = `${recovery}/${stateDoubles}`;
    const table =
      this.tables.get(name) ??
      new Table({ keysMax: this.#bounds.keysMax, stateDoubles }, this.#owner);
    this.tables.set(name, table);
    return table;
  }

  #shelfFor(algorithm: EntryLimit["algorithm"]): EntryShelf {
    const { logEntriesMax, permitsMax } = this.#bounds;
    const entriesMax = algorithm === "concurrency" ? permitsMax : logEntriesMax;
    const shelf = this.#shelves.get(algorithm) ?? new EntryShelf(new Arena(entriesMax));
    this.#shelves.set(algorithm, shelf);
    return shelf;
  }
}

function isSketch(limit: Limit): limit is SketchLimit {
  return limit.algorithm === "sketch";
}

/** Whether a limit keeps an entry for each charge. */
function hasEntries(limit: Limit): limit is EntryLimit {
  return limit.algorithm === "slidingWindowLog" || limit.algorithm === "concurrency";
}
