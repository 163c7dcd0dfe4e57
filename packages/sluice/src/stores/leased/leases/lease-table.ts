// The table of leases: a row for each counter, and in it the leases of each key. Keys are kept as strings, since
// budget is returned under them, so their number and length are bounded, and a key has an entry only while it is
// busy.

import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Limit } from "../../../limits/limits.js";
import type { Counter } from "../../store.js";
import type { KeyLeases } from "./key-leases.js";
import { type Leasable, type LeaseTerms, toLeasable } from "./leasable.js";
import type { Lease } from "./lease.js";

/** The leased keys of one counter. */
export interface LeaseRow extends Leasable {
  /** The limit as callers know it. */
  readonly limit: Limit;
  /** Distinguishes rows where counts of keys are shared. */
  readonly id: number;
  readonly byKey: Map<string, KeyLeases>;
}

/** A longer key is never leased. */
export const KEY_CHARS_MAX = 512;

/** All rows of a store. */
export class LeaseTable {
  readonly #terms: LeaseTerms;
  readonly #keysMax: number;
  readonly #byCounter = new WeakMap<Counter, LeaseRow>();
  /** The rows with keys in them, so at most as many as there are keys. */
  readonly #inUse = new Set<LeaseRow>();
  #keys = 0;
  #lastId = 0;

  constructor(settings: LeaseTerms & { readonly keysMax: number }) {
    this.#terms = settings;
    this.#keysMax = settings.keysMax;
  }

  /** How many keys are held. */
  get keys(): number {
    return this.#keys;
  }

  /**
   * The row of a counter; throws if the counter can't be leased. If it is new, also what is held
   * under other numbers of the same name.
   */
  of(counter: Counter): { row: LeaseRow; outdated: readonly KeyLeases[] } {
    const known = this.#byCounter.get(counter) ?? this.#alike(counter);
    const row = known ?? this.#make(counter);
    this.#byCounter.set(counter, row);
    return { row, outdated: known === undefined ? this.#heldUnder(counter) : [] };
  }

  #make(counter: Counter): LeaseRow {
    const { limit } = counter;
    const leasable = toLeasable(counter, this.#terms);
    return { ...leasable, limit, id: ++this.#lastId, byKey: new Map<string, KeyLeases>() };
  }

  #heldUnder({ scope, part }: Counter): KeyLeases[] {
    return [...this.#inUse]
      .filter(({ counter }) => counter.scope === scope && counter.part === part)
      .flatMap(({ byKey }) => [...byKey.values()]);
  }

  /** Another limiter of the same name and limit, or a counter that was recreated, has the same budget. */
  #alike({ scope, part, limit }: Counter): LeaseRow | undefined {
    for (const row of this.#inUse) {
      const { counter } = row;
      if (counter.scope === scope && counter.part === part && row.limit === limit) return row;
    }
    return undefined;
  }

  /** Whether this key may be leased at all, as far as its length and its limit are concerned. */
  mayHold(row: LeaseRow, key: string): boolean {
    return row.lifeMsMax > 0 && key.length <= KEY_CHARS_MAX;
  }

  /** Adds the leases of a key. Returns false if there are as many keys as there may be. */
  add(row: LeaseRow, key: string, keyLeases: KeyLeases): boolean {
    if (this.#keys >= this.#keysMax) return false;
    row.byKey.set(key, keyLeases);
    this.#inUse.add(row);
    this.#keys++;
    return true;
  }

  /** Removes a key that has no more leases. */
  remove(row: LeaseRow, key: string): void {
    if (!row.byKey.delete(key)) return;
    this.#keys--;
    if (row.byKey.size === 0) this.#inUse.delete(row);
  }

  /** The leases of every key. The current key may be removed meanwhile. */
  *all(): Generator<{ row: LeaseRow; key: string; keyLeases: KeyLeases }> {
    for (const row of this.#inUse) {
      for (const [key, keyLeases] of row.byKey) yield { row, key, keyLeases };
    }
  }

  /** The leases of a key under any limit of a scope, or of one of its parts. */
  find(scope: string, key: string, part?: number): KeyLeases[] {
    const found: KeyLeases[] = [];
    for (const { counter, byKey } of this.#inUse) {
      const isAsked = counter.scope === scope && (part === undefined || counter.part === part);
      const keyLeases = isAsked ? byKey.get(key) : undefined;
      if (keyLeases !== undefined) found.push(keyLeases);
    }
    return found;
  }
}

/** Removes and returns all leases of some keys, so that their units can be returned to the store. */
export function dropAll(held: readonly KeyLeases[]): Lease[] {
  return held.flatMap((keyLeases) => keyLeases.drop());
}

/** Keeps keys strict while something is done to them. */
export function keepStrict<T>(
  held: readonly KeyLeases[],
  verb: () => MaybePromise<T>,
): MaybePromise<T> {
  for (const keyLeases of held) keyLeases.verbs++;
  const done = () => {
    for (const keyLeases of held) keyLeases.verbs--;
  };
  try {
    const result = verb();
    if (isThenable(result)) return Promise.resolve(result).finally(done);
    done();
    return result;
  } catch (error) {
    done();
    throw error;
  }
}
