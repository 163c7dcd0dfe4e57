// Finds the rules that match a request. The request's path and the values that rules ask for lead to them; rules
// about other paths and values are never looked at, even if there are ten thousand.

import { runSteps, type Steps } from "../../base/steps.js";
import type { Match } from "../rule.js";
import { toClientText } from "./field.js";
import { MatchIndex } from "./match-index.js";
import type { NormalizedRequest } from "./normalized-request.js";

/** Something with a match, in the order in which matches are listed. */
export interface Matchable {
  readonly match: Match;
}

/** Finds the rules of a request without looking at every one of them. */
export class Matcher<T extends Matchable> {
  readonly #entries: MatchIndex<T>;
  /** What is asked for without attributes, each such match once: rules for many tenants are one here. */
  readonly #shown: MatchIndex<unknown>;
  readonly isEmpty: boolean;

  constructor(entries: readonly T[], indexes: Indexes<T> = runSteps(toIndexes(entries))) {
    this.#entries = indexes.entries;
    this.#shown = indexes.shown;
    this.isEmpty = entries.length === 0;
  }

  /** Makes the same in steps. */
  static *make<T extends Matchable>(entries: readonly T[]): Steps<Matcher<T>> {
    return new Matcher(entries, yield* toIndexes(entries));
  }

  /** The entries that match, in their order, each once. */
  match(request: NormalizedRequest): readonly T[] {
    return this.#entries.match(request);
  }

  /**
   * Whether any entry could match, whichever caller it turns out to be: by what every request shows,
   * whatever its attributes. False only if none will.
   */
  mayMatch(request: NormalizedRequest): boolean {
    return !this.isEmpty && this.#shown.matchesAny(request);
  }
}

interface Indexes<T> {
  readonly entries: MatchIndex<T>;
  readonly shown: MatchIndex<unknown>;
}

function* toIndexes<T extends Matchable>(list: readonly T[]): Steps<Indexes<T>> {
  const entries = yield* MatchIndex.make(list, ({ match }) => match);
  if (!list.some(({ match }) => match.attributes.size > 0)) return { entries, shown: entries };
  return { entries, shown: yield* MatchIndex.make(toShown(list), (match) => match) };
}

const NO_ATTRIBUTES: Match["attributes"] = new Map();

function toShown(entries: readonly Matchable[]): readonly Match[] {
  const shown = new Map<string, Match>();
  for (const { match } of entries) {
    const { paths, methods, hosts, headers, client } = match;
    const text = JSON.stringify([
      paths,
      methods,
      hosts,
      [...headers],
      client && toClientText(client),
    ]);
    shown.set(text, { paths, methods, hosts, headers, attributes: NO_ATTRIBUTES, client });
  }
  return [...shown.values()];
}
