// A trie over the segments of path patterns. A request's path is followed segment by segment, through literals and
// wildcards alike, and segments beyond the longest pattern are never read. A path visits each node at most once, so
// no path takes more steps than there are nodes.

import type { Collector } from "./collector.js";
import type { NormalizedRequest } from "./normalized-request.js";
import type { PathPattern } from "./path-pattern.js";

/** Path patterns, each with the collector of its rules. */
export class PathTrie<C> {
  readonly #root = new Node<C>();
  /** Literals, each once: ten thousand rules with `items` in their paths share one string. */
  readonly #literals = new Map<string, string>();

  /** Sets the collector of a pattern. Patterns that differ only in the names of parameters share one. */
  set(pattern: PathPattern, collector: Collector<C>): void {
    let node = this.#root;
    for (const literal of pattern.literals) node = node.child(this.#toOne(literal));
    if (pattern.matchesBelow) node.below = collector;
    else node.here = collector;
  }

  #toOne(literal: string | undefined): string | undefined {
    if (literal === undefined) return undefined;
    const known = this.#literals.get(literal);
    if (known === undefined) this.#literals.set(literal, literal);
    return known ?? literal;
  }

  /** Collects the rules of all patterns that match these segments. */
  collect(segments: readonly string[], request: NormalizedRequest, found: C[]): void {
    collectFrom(this.#root, 0, segments, request, found);
  }
}

class Node<C> {
  /** For paths that end here. */
  here: Collector<C> | undefined = undefined;
  /** For paths that end here or anywhere below. */
  below: Collector<C> | undefined = undefined;
  /** The child for any segment: a parameter or `*`. */
  any: Node<C> | undefined = undefined;
  literals: Map<string, Node<C>> | undefined = undefined;

  /** The child for a literal, or for any segment; created if it does not exist. */
  child(literal: string | undefined): Node<C> {
    if (literal === undefined) {
      this.any ??= new Node();
      return this.any;
    }
    this.literals ??= new Map();
    const child = this.literals.get(literal) ?? new Node<C>();
    this.literals.set(literal, child);
    return child;
  }
}

function collectFrom<C>(
  node: Node<C>,
  depth: number,
  segments: readonly string[],
  request: NormalizedRequest,
  found: C[],
): void {
  node.below?.collect(request, found);
  if (depth === segments.length) {
    node.here?.collect(request, found);
    return;
  }
  const child = node.literals?.get(segments[depth]);
  if (child !== undefined) collectFrom(child, depth + 1, segments, request, found);
  if (node.any !== undefined) collectFrom(node.any, depth + 1, segments, request, found);
}
