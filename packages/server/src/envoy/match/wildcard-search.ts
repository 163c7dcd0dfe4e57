// Finds the first of many wildcards that a value matches. In a long value the parts between all stars are searched
// together, in one pass (Aho and Corasick): one by one, each of a thousand wildcards would read all of it.

import { fitsAround, isMatch, type Wildcard } from "./wildcard.js";

/** For values of at most this length, or fewer wildcards than this, trying one after the other is faster. */
const SHORT_LENGTH_MAX = 512;
const FEW_MAX = 8;

/** A literal that wildcards have between two stars. */
interface Part {
  readonly length: number;
  /** During a search: the wildcards that need it next. */
  readonly waiting: number[];
}

/** The beginning of a part, up to one of its characters. */
interface Node {
  readonly next: Map<number, Node>;
  /** The longest proper suffix of it that begins a part too; only the root has none. */
  suffix: Node | undefined;
  /** The part that it is, if it is a whole one. */
  part: Part | undefined;
  /** The longest proper suffix that is a whole part. */
  shorter: Node | undefined;
}

/** Wildcards, in the order in which they are tried. */
export class WildcardSearch {
  readonly #wildcards: readonly Wildcard[];
  /** The parts of each wildcard, in their order. */
  readonly #parts: readonly (readonly Part[])[];
  readonly #root: Node = toNode();

  constructor(wildcards: readonly Wildcard[]) {
    this.#wildcards = wildcards;
    this.#parts = wildcards.map(({ middle }) => middle.map(({ text }) => this.#add(text)));
    linkSuffixes(this.#root);
  }

  /** The place of the first wildcard that the value matches; -1 if none does. */
  find(value: string): number {
    const wildcards = this.#wildcards;
    const isCheap = value.length <= SHORT_LENGTH_MAX || wildcards.length <= FEW_MAX;
    if (isCheap) return wildcards.findIndex((wildcard) => isMatch(wildcard, value));
    try {
      return this.#findInOnePass(value);
    } finally {
      for (const parts of this.#parts) for (const { waiting } of parts) waiting.length = 0;
    }
  }

  #findInOnePass(value: string): number {
    const wildcards = this.#wildcards;
    /** By wildcard: where its next part may begin, and how many parts were found. */
    const from = wildcards.map(({ first }) => first.length);
    const found = wildcards.map(() => 0);
    let best = wildcards.length;
    const goOn = (index: number) => {
      const part = this.#parts[index].at(found[index]);
      if (part === undefined) best = Math.min(best, index);
      else part.waiting.push(index);
    };
    for (let index = 0; index < best; index++) {
      if (fitsAround(wildcards[index], value)) goOn(index);
    }
    this.#read(value, ({ length, waiting }, end) => {
      for (const index of waiting.splice(0)) {
        // Later occurrences end even later: it can't match any more, or an earlier one has.
        if (index >= best || end > value.length - wildcards[index].last.length) continue;
        if (end - length >= from[index]) {
          from[index] = end;
          found[index]++;
        }
        goOn(index);
      }
    });
    return best === wildcards.length ? -1 : best;
  }

  /** Calls back for each occurrence of a part that is waited for, with where it ends. */
  #read(value: string, onPart: (part: Part, end: number) => void): void {
    let node = this.#root;
    for (let at = 0; at < value.length; at++) {
      node = follow(node, value.charCodeAt(at));
      for (let whole: Node | undefined = node; whole !== undefined; whole = whole.shorter) {
        const { part } = whole;
        if (part !== undefined && part.waiting.length > 0) onPart(part, at + 1);
      }
    }
  }

  #add(text: string): Part {
    let node = this.#root;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const next = node.next.get(code) ?? toNode();
      node.next.set(code, next);
      node = next;
    }
    node.part ??= { length: text.length, waiting: [] };
    return node.part;
  }
}

function toNode(): Node {
  return { next: new Map(), suffix: undefined, part: undefined, shorter: undefined };
}

/** Where the next character leads: along a part, or to the longest suffix that it continues. */
function follow(from: Node, code: number): Node {
  let node = from;
  for (;;) {
    const next = node.next.get(code);
    if (next !== undefined) return next;
    if (node.suffix === undefined) return node;
    node = node.suffix;
  }
}

/** Shorter beginnings first: a suffix is shorter than what it is the suffix of. */
function linkSuffixes(root: Node): void {
  const queue = [root];
  for (const node of queue) {
    for (const [code, child] of node.next) {
      child.suffix = node.suffix === undefined ? root : follow(node.suffix, code);
      child.shorter = child.suffix.part === undefined ? child.suffix.shorter : child.suffix;
      queue.push(child);
    }
  }
}
