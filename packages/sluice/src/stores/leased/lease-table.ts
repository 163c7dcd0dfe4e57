// Who holds what: a book for each counter, and in it the holding of each leased key. Keys are kept
// as they are, since budget has to be returned under its name; so their number and their length
// are bounded, and a key is in a book only while it is busy.

import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Limit } from "../../limits/limits.js";
import type { Counter } from "../store.js";
import type { Holding } from "./key-leases.js";
import { type Leasable, type LeaseTerms, toLeasable } from "./leasable.js";
import type { Block } from "./lease.js";

/** The leased keys of one counter. */
export interface Book extends Leasable {
  /** The limit as callers know it. */
  readonly limit: Limit;
  /** Tells books apart where counts of keys are shared. */
  readonly id: number;
  readonly holdings: Map<string, Holding>;
}

/** A longer key is never leased. */
export const KEY_CHARS_MAX = 512;

/** All books of a store. */
export class Books {
  readonly #terms: LeaseTerms;
  readonly #keysMax: number;
  readonly #byCounter = new WeakMap<Counter, Book>();
  /** The books with keys in them, so at most as many as there are keys. */
  readonly #inUse = new Set<Book>();
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
   * The book of a counter; throws if the counter can't be leased. If it is new, also what is held
   * under other numbers of the same name.
   */
  of(counter: Counter): { book: Book; outdated: readonly Holding[] } {
    const known = this.#byCounter.get(counter) ?? this.#alike(counter);
    const book = known ?? this.#make(counter);
    this.#byCounter.set(counter, book);
    return { book, outdated: known === undefined ? this.#heldUnder(counter) : [] };
  }

  #make(counter: Counter): Book {
    const { limit } = counter;
    const leasable = toLeasable(counter, this.#terms);
    return { ...leasable, limit, id: ++this.#lastId, holdings: new Map<string, Holding>() };
  }

  #heldUnder({ scope, part }: Counter): Holding[] {
    return [...this.#inUse]
      .filter(({ counter }) => counter.scope === scope && counter.part === part)
      .flatMap(({ holdings }) => [...holdings.values()]);
  }

  /** Another limiter of the same name and limit, or a counter made anew, has the same budget. */
  #alike({ scope, part, limit }: Counter): Book | undefined {
    for (const book of this.#inUse) {
      const { counter } = book;
      if (counter.scope === scope && counter.part === part && book.limit === limit) return book;
    }
    return undefined;
  }

  /** Whether this key may be leased at all, as far as its length and its limit are concerned. */
  mayHold(book: Book, key: string): boolean {
    return book.lifeMsMax > 0 && key.length <= KEY_CHARS_MAX;
  }

  /** Adds a holding. Returns false if there are as many as there may be. */
  add(book: Book, key: string, holding: Holding): boolean {
    if (this.#keys >= this.#keysMax) return false;
    book.holdings.set(key, holding);
    this.#inUse.add(book);
    this.#keys++;
    return true;
  }

  /** Removes a holding that has nothing any more. */
  remove(book: Book, key: string): void {
    if (!book.holdings.delete(key)) return;
    this.#keys--;
    if (book.holdings.size === 0) this.#inUse.delete(book);
  }

  /** Every holding. Removing the one at hand is allowed. */
  *all(): Generator<{ book: Book; key: string; holding: Holding }> {
    for (const book of this.#inUse) {
      for (const [key, holding] of book.holdings) yield { book, key, holding };
    }
  }

  /** The holdings of a key under any limit of a scope, or of one of its parts. */
  find(scope: string, key: string, part?: number): Holding[] {
    const found: Holding[] = [];
    for (const { counter, holdings } of this.#inUse) {
      const isAsked = counter.scope === scope && (part === undefined || counter.part === part);
      const holding = isAsked ? holdings.get(key) : undefined;
      if (holding !== undefined) found.push(holding);
    }
    return found;
  }
}

/** Gives up all of some holdings. Returns their blocks, to be given back. */
export function dropAll(held: readonly Holding[]): Block[] {
  return held.flatMap((holding) => holding.drop());
}

/** Keeps keys strict while something is done to them. */
export function keepStrict<T>(
  held: readonly Holding[],
  verb: () => MaybePromise<T>,
): MaybePromise<T> {
  for (const holding of held) holding.verbs++;
  const done = () => {
    for (const holding of held) holding.verbs--;
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
