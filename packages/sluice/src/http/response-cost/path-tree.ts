// The paths that are looked for in a JSON body, as a tree of names: a scanner walks down it as objects open.

import type { JsonPath, JsonSum } from "../../rules/rule.js";
import type { ByteSearch } from "./byte-search.js";
import { toSearches } from "./byte-search.js";

/** A name on the way to a number. Every path below it has a place from `from` to `to`, the end not included. */
export interface PathNode {
  /** In UTF-8. */
  readonly name: Uint8Array;
  readonly text: string;
  readonly children: readonly PathNode[];
  /** The place of the path that ends here; -1 if none does. */
  readonly place: number;
  readonly from: number;
  readonly to: number;
}

/** Paths, each with a place: the index of its number in lists of values. */
export interface PathTree {
  readonly root: PathNode;
  /** How many paths there are. */
  readonly count: number;
  /** By path, its names joined by dots. */
  readonly places: ReadonlyMap<string, number>;
  /** The most bytes that a name may take in a body, each character written as an escape of six bytes. */
  readonly nameBytesMax: number;
  /** Finds events of a stream that may have one of the paths; undefined if only reading them does. */
  readonly searches: readonly ByteSearch[] | undefined;
}

/** The bytes of a character as an escape: `\u0041`. */
const ESCAPE_BYTES = 6;

/** The tree of all paths in these sums. */
export function toPathTree(sums: readonly JsonSum[]): PathTree {
  const paths = sums.flat(2);
  const places = new Map<string, number>();
  const root = toNode("", paths, [], places);
  const names = paths.flat();
  const lengthMax = Math.max(...names.map(({ length }) => length));
  const lastNames = [...new Set(paths.map((path) => path[path.length - 1]))];
  const searches = toSearches(lastNames);
  return { root, count: places.size, places, nameBytesMax: lengthMax * ESCAPE_BYTES, searches };
}

/** @param paths - Those that go through the node, without the names above it. */
function toNode(
  text: string,
  paths: readonly JsonPath[],
  above: readonly string[],
  places: Map<string, number>,
): PathNode {
  const from = places.size;
  const endsHere = paths.some(({ length }) => length === 0);
  if (endsHere) places.set(above.join("."), from);
  const children = [...new Set(paths.filter(({ length }) => length > 0).map(([name]) => name))].map(
    (name) => {
      const below = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
      return toNode(name, below, [...above, name], places);
    },
  );
  const name = new TextEncoder().encode(text);
  return { name, text, children, place: endsHere ? from : -1, from, to: places.size };
}
