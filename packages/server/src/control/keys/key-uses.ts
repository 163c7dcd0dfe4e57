// When keys were last used, to the hour: enough to find keys that nothing uses any more, and cheap enough to note for
// every request. What is noted is taken away once a minute and stored by the service.

import type { KeyTable } from "./key-table.js";

/** The hour in which a key was used, by its id: hours since 1970. */
export type LastUses = ReadonlyMap<string, number>;

const HOUR_MS = 3_600_000;
/** Keys that are noted between two takes. Those beyond it are noted after the next. */
const USES_MAX = 10_000;

/** Notes uses of the keys of a table. */
export class KeyUses {
  readonly #table: KeyTable;
  readonly #now: () => number;
  #uses = new Map<string, number>();
  #hour: number;

  constructor(table: KeyTable, now: () => number) {
    this.#table = table;
    this.#now = now;
    this.#hour = hourOf(now());
  }

  /** How many keys are noted. */
  get size(): number {
    return this.#uses.size;
  }

  /** Reads the clock: no request does. */
  tick(): void {
    this.#hour = hourOf(this.#now());
  }

  /** Notes that the key of a row is used. */
  note(row: number): void {
    const hour = this.#hour;
    if (this.#table.lastUseOf(row) === hour || this.#uses.size >= USES_MAX) return;
    this.#table.setLastUse(row, hour);
    this.#uses.set(this.#table.idOf(row), hour);
  }

  /** What was noted since the last call. */
  take(): LastUses {
    this.tick();
    const uses = this.#uses;
    this.#uses = new Map();
    return uses;
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}
