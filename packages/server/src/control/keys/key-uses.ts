// When keys were last used, to the hour: enough to find keys that nothing uses any more, and cheap enough to note for
// every request. What is noted is stored once a minute, and kept until that succeeds.

import { pause } from "../../base/clock.js";
import type { KeyTable } from "./key-table.js";

/** The hour in which a key was used, by its id: hours since 1970. */
export type LastUses = ReadonlyMap<string, number>;

/** Stores the hours of some keys, {@link STORED_MAX} at most. Rejects if they are not stored. */
export type StoreUses = (uses: LastUses) => Promise<void>;

/** Keys whose hours are stored in one step. */
export const STORED_MAX = 100;
/** Between two steps, for requests to be decided: SQLite writes synchronously. */
const PAUSE_MS = 10;

const HOUR_MS = 3_600_000;
/** Keys that are noted and not stored yet. Those beyond it are noted later. */
const USES_MAX = 10_000;

/** Notes uses of the keys of a table. */
export class KeyUses {
  readonly #table: KeyTable;
  readonly #now: () => number;
  readonly #uses = new Map<string, number>();
  #hour: number;

  constructor(table: KeyTable, now: () => number) {
    this.#table = table;
    this.#now = now;
    this.#hour = hourOf(now());
    table.forgetUses();
  }

  /** How many keys are noted. */
  get size(): number {
    return this.#uses.size;
  }

  /** Reads the clock: no request does. */
  tick(): void {
    const hour = hourOf(this.#now());
    if (hour === this.#hour) return;
    this.#hour = hour;
    this.#table.forgetUses();
  }

  /** Notes that the key of a slot is used, once an hour. */
  note(slot: number): void {
    if (this.#table.isUsed(slot) || this.#uses.size >= USES_MAX) return;
    this.#table.setUsed(slot);
    this.#uses.set(this.#table.idOf(slot), this.#hour);
  }

  /** Takes some of what was noted away, {@link STORED_MAX} keys at most. */
  take(): LastUses {
    const taken = new Map<string, number>();
    for (const [id, hour] of this.#uses) {
      taken.set(id, hour);
      this.#uses.delete(id);
      if (taken.size >= STORED_MAX) break;
    }
    return taken;
  }

  /** Notes again what could not be stored. */
  putBack(uses: LastUses): void {
    for (const [id, hour] of uses) {
      if (!this.#uses.has(id)) this.#uses.set(id, hour);
    }
  }
}

/** Stores what is noted, and keeps what can't be stored for the next time. */
export class UsesFlush {
  readonly #uses: KeyUses;
  readonly #store: StoreUses;
  readonly #onError: (error: unknown) => void;
  #running: Promise<void> | undefined;

  constructor(uses: KeyUses, store: StoreUses, onError: (error: unknown) => void) {
    this.#uses = uses;
    this.#store = store;
    this.#onError = onError;
  }

  /** Resolves when all is stored, or could not be. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    while (this.#uses.size > 0) {
      const uses = this.#uses.take();
      try {
        await this.#store(uses);
      } catch (error) {
        this.#uses.putBack(uses);
        this.#onError(error);
        return;
      }
      if (this.#uses.size > 0) await pause(PAUSE_MS);
    }
  }
}

/** The hour of a time: hours since 1970. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

/** When an hour starts, in Unix milliseconds. */
export function startOfHourMs(hour: number): number {
  return hour * HOUR_MS;
}
