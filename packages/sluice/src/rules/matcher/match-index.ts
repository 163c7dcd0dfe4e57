// Matches, made findable: by path first, then by what else they ask for.

import { type PathPattern, toPattern } from "../pattern.js";
import type { Match } from "../rule.js";
import type { Subject } from "../subject.js";
import { type Collector, CollectorMaker, type Open } from "./collector.js";
import { Fields } from "./field.js";
import { PathTrie } from "./trie.js";

/** An entry, with its place in the order. */
export class Placed<T> {
  constructor(
    readonly entry: T,
    readonly order: number,
  ) {}
}

/** Beyond so many entries for one request insertion would take longer than sorting. */
const FEW_MAX = 32;

/** Entries by their matches. */
export class MatchIndex<T> {
  /** Entries that are about every path. */
  readonly #everywhere: Collector<Placed<T>>;
  /** Undefined if no entry asks for a path, so that none has to be read. */
  readonly #trie: PathTrie<Placed<T>> | undefined;

  constructor(entries: readonly T[], toMatch: (entry: T) => Match) {
    const fields = new Fields(entries.map(toMatch));
    const everywhere: Open<Placed<T>>[] = [];
    const groups = new Groups<Placed<T>>();
    for (const [order, entry] of entries.entries()) {
      const match = toMatch(entry);
      const open = { candidate: new Placed(entry, order), conditions: fields.toConditions(match) };
      if (match.paths.length === 0) everywhere.push(open);
      for (const path of match.paths) groups.add(path, open);
    }
    const maker = new CollectorMaker();
    this.#everywhere = maker.make(everywhere);
    this.#trie = groups.toTrie(maker);
  }

  /** The entries that a request falls under, in their order, each once. */
  find(subject: Subject): readonly Placed<T>[] {
    const found: Placed<T>[] = [];
    this.#everywhere.collect(subject, found);
    if (this.#trie !== undefined) {
      const { segments, others } = subject.path;
      this.#trie.collect(segments, subject, found);
      for (const other of others) this.#trie.collect(other, subject, found);
    }
    if (!isInOrder(found)) putInOrder(found);
    return found;
  }
}

/** Candidates by path pattern; patterns that fit the same paths are one. */
class Groups<C> {
  readonly #groups = new Map<string, { readonly pattern: PathPattern; readonly open: Open<C>[] }>();

  add(path: string, open: Open<C>): void {
    const pattern = toPattern(path);
    const shape = JSON.stringify([pattern.literals, pattern.isOpen]);
    const group = this.#groups.get(shape);
    if (group === undefined) this.#groups.set(shape, { pattern, open: [open] });
    else group.open.push(open);
  }

  toTrie(maker: CollectorMaker): PathTrie<C> | undefined {
    if (this.#groups.size === 0) return undefined;
    const trie = new PathTrie<C>();
    for (const { pattern, open } of this.#groups.values()) trie.set(pattern, maker.make(open));
    return trie;
  }
}

function isInOrder(found: readonly Placed<unknown>[]): boolean {
  for (let i = 1; i < found.length; i++) {
    if (found[i - 1].order >= found[i].order) return false;
  }
  return true;
}

/**
 * Sorted, and without repetitions: two patterns of one rule may both fit. By insertion, in place: the
 * few that a request falls under come in two or three runs that are in order already.
 */
function putInOrder(found: Placed<unknown>[]): void {
  if (found.length > FEW_MAX) found.sort((a, b) => a.order - b.order);
  let kept = 0;
  for (const placed of found) {
    let at = kept;
    while (at > 0 && found[at - 1].order > placed.order) at--;
    if (at > 0 && found[at - 1] === placed) continue;
    for (let i = kept; i > at; i--) found[i] = found[i - 1];
    found[at] = placed;
    kept++;
  }
  found.length = kept;
}
