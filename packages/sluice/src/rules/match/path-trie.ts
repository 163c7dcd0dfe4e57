// A trie over the segments of path patterns. A request's path is followed segment by segment, through literals and
// wildcards alike, and segments beyond the longest pattern are never read. A path visits each node at most once, so
// no path takes more steps than there are nodes.
//
// All nodes are in one hash table, found by the node above and the segment, and a node is half a cache line. As objects
// with a Map each, walking a path took longest of all that ten thousand rules cost (bench service/rules-scale).

import { spreadHash } from "../../base/spread-hash.js";
import { ITEMS_A_STEP, type Steps } from "../../base/steps.js";
import type { Collector } from "./collector.js";
import type { NormalizedRequest } from "./normalized-request.js";
import type { PathPattern } from "./path-pattern.js";

/** Path patterns, each with the collector of its rules: what a {@link PathTrie} is made of. */
export class PathBranch {
  /** For paths that end here. */
  here: Collector<number> | undefined = undefined;
  /** For paths that end here or anywhere below. */
  below: Collector<number> | undefined = undefined;
  /** The child for any segment: a parameter or `*`. */
  any: PathBranch | undefined = undefined;
  readonly literals = new Map<string, PathBranch>();

  /** Sets the collector of a pattern. Patterns that differ only in the names of parameters share one. */
  set({ literals, matchesBelow }: PathPattern, collector: Collector<number>): void {
    let branch: PathBranch = this;
    for (const literal of literals) branch = branch.#child(literal);
    if (matchesBelow) branch.below = collector;
    else branch.here = collector;
  }

  #child(literal: string | undefined): PathBranch {
    if (literal === undefined) {
      this.any ??= new PathBranch();
      return this.any;
    }
    const child = this.literals.get(literal) ?? new PathBranch();
    this.literals.set(literal, child);
    return child;
  }
}

/** The integers of a node. */
const NODE_INTS = 8;
/** The node above, plus 1; 0 where there is no node. */
const PARENT = 0;
const HASH = 1;
/** What is found at a path that ends here, and at one that ends here or below: a place plus 1, a collector as -1 - index, or 0. */
const HERE = 2;
const BELOW = 3;
/** The child for any segment, plus 1, or 0. */
const ANY = 4;
const HAS_LITERALS = 5;

/** Slots of the table for each node. */
const SLOTS_PER_NODE = 2;

/** Finds the places of rules by path. */
export class PathTrie {
  readonly #nodes: Int32Array;
  readonly #mask: number;
  /** The literal of each node; undefined for any segment. */
  readonly #literals: (string | undefined)[];
  /** Where more than one rule is found, or only under conditions. */
  readonly #collectors: Collector<number>[] = [];
  #root = 0;
  /** Longer segments are not hashed. */
  #literalLengthMax = 0;

  private constructor(nodesMax: number) {
    const slots = 2 ** Math.ceil(Math.log2(nodesMax * SLOTS_PER_NODE));
    this.#nodes = new Int32Array(slots * NODE_INTS);
    this.#literals = new Array<undefined>(slots).fill(undefined);
    this.#mask = slots - 1;
  }

  /** Makes a trie of the branches below `root`. */
  static *make(root: PathBranch): Steps<PathTrie> {
    const branches = [{ branch: root, literal: undefined as string | undefined, above: -1 }];
    for (let i = 0; i < branches.length; i++) {
      const { any, literals } = branches[i].branch;
      if (any !== undefined) branches.push({ branch: any, literal: undefined, above: i });
      for (const [literal, branch] of literals) branches.push({ branch, literal, above: i });
      if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
    }
    const trie = new PathTrie(branches.length);
    const nodes: number[] = [];
    for (let i = 0; i < branches.length; i++) {
      const { branch, literal, above } = branches[i];
      nodes.push(trie.#add(branch, literal, above < 0 ? undefined : nodes[above]));
      if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
    }
    trie.#root = nodes[0];
    return trie;
  }

  /** Adds the places of all patterns that match these segments. */
  collect(segments: readonly string[], request: NormalizedRequest, found: number[]): void {
    this.#collectFrom(this.#root, 0, segments, request, found);
  }

  #collectFrom(
    node: number,
    depth: number,
    segments: readonly string[],
    request: NormalizedRequest,
    found: number[],
  ): void {
    const nodes = this.#nodes;
    const at = node * NODE_INTS;
    if (nodes[at + BELOW] !== 0) this.#take(nodes[at + BELOW], request, found);
    if (depth === segments.length) {
      if (nodes[at + HERE] !== 0) this.#take(nodes[at + HERE], request, found);
      return;
    }
    const child = nodes[at + HAS_LITERALS] === 0 ? -1 : this.#find(node, segments[depth]);
    if (child >= 0) this.#collectFrom(child, depth + 1, segments, request, found);
    const any = nodes[at + ANY] - 1;
    if (any >= 0) this.#collectFrom(any, depth + 1, segments, request, found);
  }

  #take(what: number, request: NormalizedRequest, found: number[]): void {
    if (what > 0) found.push(what - 1);
    else this.#collectors[-1 - what].collect(request, found);
  }

  /** The child of a node for a literal; -1 if it has none. */
  #find(parent: number, literal: string): number {
    if (literal.length > this.#literalLengthMax) return -1;
    const nodes = this.#nodes;
    const hash = spreadHash(literal, parent) | 0;
    let node = hash & this.#mask;
    // Rules decide how far this goes, and not requests: there are as many free slots as nodes.
    while (nodes[node * NODE_INTS + PARENT] !== 0) {
      const at = node * NODE_INTS;
      const isLikely = nodes[at + HASH] === hash && nodes[at + PARENT] === parent + 1;
      if (isLikely && this.#literals[node] === literal) return node;
      node = (node + 1) & this.#mask;
    }
    return -1;
  }

  #add(branch: PathBranch, literal: string | undefined, parent: number | undefined): number {
    const nodes = this.#nodes;
    const hash = spreadHash(literal ?? "", parent) | 0;
    let node = hash & this.#mask;
    while (nodes[node * NODE_INTS + PARENT] !== 0) node = (node + 1) & this.#mask;
    const at = node * NODE_INTS;
    nodes[at + PARENT] = (parent ?? node) + 1;
    nodes[at + HASH] = hash;
    nodes[at + HERE] = this.#toFound(branch.here);
    nodes[at + BELOW] = this.#toFound(branch.below);
    nodes[at + HAS_LITERALS] = branch.literals.size > 0 ? 1 : 0;
    this.#literals[node] = literal;
    if (literal !== undefined) {
      this.#literalLengthMax = Math.max(this.#literalLengthMax, literal.length);
    } else if (parent !== undefined) nodes[parent * NODE_INTS + ANY] = node + 1;
    return node;
  }

  #toFound(collector: Collector<number> | undefined): number {
    if (collector === undefined) return 0;
    if (collector.only !== undefined) return collector.only + 1;
    return -this.#collectors.push(collector);
  }
}
