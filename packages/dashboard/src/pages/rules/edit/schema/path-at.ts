// Where a place in rules is: the path of names from the top down to it. By the syntax tree, or while a line is being
// written, which the tree does not understand yet, by indentation.

import { type SyntaxNode, scalarOf } from "../yaml/yaml-tree.js";
import type { SchemaPath } from "./schema.js";

/** The path of a node: of the field that it is part of, key or value. */
export function pathOf(text: string, node: SyntaxNode): SchemaPath {
  const path: (string | null)[] = [];
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === "Item") path.unshift(null);
    const key = at.name === "Pair" ? at.getChild("Key") : null;
    if (key !== null) path.unshift(scalarOf(text, key.firstChild ?? key));
  }
  return path;
}

interface Line {
  /** The column of each dash. */
  readonly dashes: readonly number[];
  /** The column of its first word. */
  readonly column: number;
  /** Undefined if it has no colon. */
  readonly key: string | undefined;
  /** Whether something follows the colon. */
  readonly hasValue: boolean;
}

const LINE = /^(\s*)((?:-\s+)*)(?:(["']?)([\w.$-]+)\3\s*:(\s+\S)?)?/;
const LOOKED_AT_MAX = 5_000;

/**
 * The path of the object that a word at the end of `text` would be a field of, by indentation.
 *
 * @param text - Up to the beginning of the word.
 */
export function pathByIndent(text: string): SchemaPath {
  const lines = text.split("\n");
  const last = readLine(lines.pop() ?? "");
  const path: (string | null)[] = [];
  let column = climb(path, last, last.column);
  for (const line of lines.reverse().slice(0, LOOKED_AT_MAX)) {
    if (/^\s*(#.*)?$/.test(line)) continue;
    const read = readLine(line);
    const start = read.dashes[0] ?? read.column;
    if (read.key !== undefined && read.column < column && !read.hasValue) {
      path.unshift(read.key);
      column = climb(path, read, read.column);
    } else if (start < column && read.column <= column) column = climb(path, read, column);
    if (column <= 0) break;
  }
  return path;
}

/** Steps out of the items of lists that begin on a line; returns the column whose parent is looked for. */
function climb(path: (string | null)[], { dashes }: Line, column: number): number {
  let at = column;
  for (const dash of [...dashes].reverse()) {
    if (dash >= at) continue;
    path.unshift(null);
    // The list may stand in the same column as the name of its field.
    at = dash + 0.5;
  }
  return at;
}

function readLine(line: string): Line {
  const [, spaces = "", marks = "", , key, value] = LINE.exec(line) ?? [];
  const dashes = [...marks.matchAll(/-/g)].map(({ index }) => spaces.length + index);
  const rest = line.slice(spaces.length + marks.length);
  const hasValue = value !== undefined && !/:\s+#/.test(rest);
  return { dashes, column: spaces.length + marks.length, key, hasValue };
}
