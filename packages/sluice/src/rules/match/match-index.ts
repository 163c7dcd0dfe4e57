// An index of the `match` conditions of rules: by path first, then by the other values that they ask for.

import { ITEMS_A_STEP, runSteps, type Steps } from "../../base/steps.js";
import type { Match } from "../rule.js";
import { type Candidate, type Collector, CollectorMaker } from "./collector.js";
import { MatchFields } from "./field.js";
import type { NormalizedRequest } from "./normalized-request.js";
import { type PathPattern, toPattern } from "./path-pattern.js";
import { PathBranch, PathTrie } from "./path-trie.js";

/** Beyond this many entries for one request insertion would take longer than sorting. */
const FEW_MAX = 32;

/** What an index is made of. */
interface IndexParts {
  readonly everywhere: Collector<number>;
  readonly trie: PathTrie | undefined;
  readonly isUnconditional: boolean;
}

/** Entries by their matches. What is looked through are their places in the order: small, and close. */
export class MatchIndex<T> {
  readonly #entries: readonly T[];
  /** Entries that are about every path. */
  readonly #everywhere: Collector<number>;
  /** Undefined if no entry asks for a path, so that none has to be read. */
  readonly #trie: PathTrie | undefined;
  /** Whether no entry asks for anything: every request falls under all of them. */
  readonly #isUnconditional: boolean;

  constructor(
    entries: readonly T[],
    toMatch: (entry: T) => Match,
    parts: IndexParts = runSteps(toParts(entries.map(toMatch))),
  ) {
    this.#entries = entries;
    this.#everywhere = parts.everywhere;
    this.#trie = parts.trie;
    this.#isUnconditional = parts.isUnconditional;
  }

  /** Makes the same in steps. */
  static *make<T>(entries: readonly T[], toMatch: (entry: T) => Match): Steps<MatchIndex<T>> {
    return new MatchIndex(entries, toMatch, yield* toParts(entries.map(toMatch)));
  }

  /** The entries that a request falls under, in their order, each once. */
  match(request: NormalizedRequest): readonly T[] {
    if (this.#isUnconditional) return this.#entries;
    const places = this.#find(request);
    if (!isInOrder(places)) putInOrder(places);
    return places.map((place) => this.#entries[place]);
  }

  /** Whether a request falls under any entry. */
  matchesAny(request: NormalizedRequest): boolean {
    if (this.#isUnconditional) return this.#entries.length > 0;
    return this.#find(request).length > 0;
  }

  #find(request: NormalizedRequest): number[] {
    const places: number[] = [];
    this.#everywhere.collect(request, places);
    if (this.#trie === undefined) return places;
    const { segments, others } = request.path;
    this.#trie.collect(segments, request, places);
    for (let i = 0; i < others.length; i++) this.#trie.collect(others[i], request, places);
    return places;
  }
}

function* toParts(matches: readonly Match[]): Steps<IndexParts> {
  const fields = new MatchFields(matches);
  const everywhere: Candidate<number>[] = [];
  const groups = new Groups();
  for (let place = 0; place < matches.length; place++) {
    const match = matches[place];
    const candidate = { entry: place, conditions: fields.toConditions(match) };
    if (match.paths.length === 0) everywhere.push(candidate);
    for (const path of match.paths) groups.add(path, candidate);
    if (place % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
  }
  const isFree = ({ conditions }: Candidate<number>) => conditions.length === 0;
  const isUnconditional = everywhere.length === matches.length && everywhere.every(isFree);
  const maker = new CollectorMaker();
  return {
    isUnconditional,
    everywhere: yield* maker.make(everywhere),
    trie: yield* groups.toTrie(maker),
  };
}

/** Candidates by path pattern; patterns that fit the same paths are one. */
class Groups {
  readonly #groups = new Map<
    string,
    { readonly pattern: PathPattern; readonly candidates: Candidate<number>[] }
  >();

  add(path: string, candidate: Candidate<number>): void {
    const pattern = toPattern(path);
    const shape = JSON.stringify([pattern.literals, pattern.matchesBelow]);
    const group = this.#groups.get(shape);
    if (group === undefined) this.#groups.set(shape, { pattern, candidates: [candidate] });
    else group.candidates.push(candidate);
  }

  *toTrie(maker: CollectorMaker): Steps<PathTrie | undefined> {
    if (this.#groups.size === 0) return undefined;
    const root = new PathBranch();
    let count = 0;
    for (const { pattern, candidates } of this.#groups.values()) {
      root.set(pattern, yield* maker.make(candidates));
      if (++count % ITEMS_A_STEP === 0) yield;
    }
    return yield* PathTrie.make(root);
  }
}

function isInOrder(places: readonly number[]): boolean {
  for (let i = 1; i < places.length; i++) {
    if (places[i - 1] >= places[i]) return false;
  }
  return true;
}

/**
 * Sorted, and without repetitions: two patterns of one rule may both fit. By insertion, in place: the
 * few that a request falls under come in two or three runs that are in order already.
 */
function putInOrder(places: number[]): void {
  if (places.length > FEW_MAX) places.sort((a, b) => a - b);
  let kept = 0;
  for (const place of places) {
    let at = kept;
    while (at > 0 && places[at - 1] > place) at--;
    if (at > 0 && places[at - 1] === place) continue;
    for (let i = kept; i > at; i--) places[i] = places[i - 1];
    places[at] = place;
    kept++;
  }
  places.length = kept;
}
