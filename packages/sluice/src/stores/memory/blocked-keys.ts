// Keys that are blocked until a certain time, in a bounded table of their own, so that no flood
// of ordinary keys can push a block out. When it is full, one that ends soon goes first. A block has
// its end and its length, so that a clock that steps back makes none longer than intended.

import type { Placement } from "./placements.js";
import { Table } from "./table/table.js";

/** Every block is of the same kind; a table needs some id that is not 0. */
const BLOCK_ID = 1;

export class Blocks {
  readonly blocksMax: number;
  #table: Table | undefined;
  #evicted = 0;

  constructor(blocksMax: number) {
    this.blocksMax = blocksMax;
  }

  get stats(): { keys: number; bytes: number } {
    return this.#table?.stats ?? { keys: 0, bytes: 0 };
  }

  /** Blocks that were evicted for others before they ended. */
  get evicted(): number {
    return this.#evicted;
  }

  get isEmpty(): boolean {
    return this.#table === undefined || this.#table.isEmpty;
  }

  /** How long a key with this fingerprint under its counter is still blocked under its scope. */
  leftMs(placement: Placement, low: number, high: number, nowMs: number): number {
    if (this.isEmpty) return 0;
    const blockLow = low ^ placement.saltLow ^ placement.blockSaltLow;
    const blockHigh = high ^ placement.saltHigh ^ placement.blockSaltHigh;
    return this.leftMsOf(blockLow, blockHigh, nowMs);
  }

  /** How long a key with this fingerprint under its scope is still blocked. */
  leftMsOf(low: number, high: number, nowMs: number): number {
    const table = this.#table;
    const slot = table === undefined ? -1 : table.find(low, high);
    if (table === undefined || slot < 0) return 0;
    const at = table.stateAt(slot);
    const leftMs = table.doubles[at] - nowMs;
    if (leftMs > 0) return Math.min(leftMs, table.doubles[at + 1]);
    // A block that was seen to have ended does not come back with the clock.
    table.free(slot);
    return 0;
  }

  set(low: number, high: number, time: { untilMs: number; nowMs: number }): void {
    this.#table ??= this.#newTable();
    const table = this.#table;
    const found = table.find(low, high);
    const slot = found >= 0 ? found : table.claim(low, high, BLOCK_ID, time.nowMs);
    const at = table.stateAt(slot);
    table.doubles[at] = time.untilMs;
    table.doubles[at + 1] = time.untilMs - time.nowMs;
  }

  delete(low: number, high: number): void {
    const slot = this.#table?.find(low, high) ?? -1;
    if (slot >= 0) this.#table?.free(slot);
  }

  #newTable(): Table {
    const table: Table = new Table(
      { keysMax: this.blocksMax, stateDoubles: 2 },
      {
        share: (slot, _id, nowMs) => Math.max(0, table.doubles[table.stateAt(slot)] - nowMs),
        forget: (slot, _id, nowMs) => {
          if (table.doubles[table.stateAt(slot)] > nowMs) this.#evicted++;
        },
      },
    );
    return table;
  }
}
