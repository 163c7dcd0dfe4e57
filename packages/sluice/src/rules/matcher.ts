// Which rules a request falls under.

import type { Match } from "./rule.js";
import type { Subject } from "./subject.js";

/** Something with a match, in the order in which matches are listed. */
export interface Matchable {
  readonly match: Match;
}

/** Finds the rules of a request without looking at every one of them. */
export class Matcher<T extends Matchable> {
  readonly #entries: readonly T[];

  constructor(entries: readonly T[]) {
    this.#entries = entries;
  }

  /** Adds the entries that match, in their order. */
  match(_subject: Subject, found: T[]): void {
    for (const entry of this.#entries) found.push(entry);
  }

  /** Whether any entry could match, whoever the caller turns out to be. */
  mayMatch(_subject: Subject): boolean {
    return this.#entries.length > 0;
  }
}
