// No files of a package import each other in a circle, and no folders that lie beside each other, types included: each
// can be read, moved and tested with only those below it in mind.

import { importsOf, resolve } from "./import-rules.js";
import { type Complaint, isPackageSource } from "./rule.js";

type Graph = ReadonlyMap<string, readonly string[]>;

/** One complaint for each file from which imports lead back to it, with the shortest way; the first of a circle says it. */
export function importsFormNoCycle(files: ReadonlyMap<string, string>): Complaint[] {
  return cyclesIn(toGraph(files)).map(
    (cycle) => `${cycle[0]}:1: imports lead back to it: ${cycle.join(" → ")}`,
  );
}

/**
 * The same for folders that lie beside each other. Files that lie beside folders don't count: an entry file may use a
 * folder whose files use its types.
 */
export function foldersFormNoCycle(files: ReadonlyMap<string, string>): Complaint[] {
  const graph = new Map<string, string[]>();
  /** A file that imports from one folder into the other. */
  const importers = new Map<string, string>();
  for (const [path, targets] of toGraph(files)) {
    for (const target of targets) {
      const [from, to] = foldersThatPart(path, target);
      if (from === undefined || to === undefined || importers.has(`${from} ${to}`)) continue;
      importers.set(`${from} ${to}`, path);
      graph.set(from, [...(graph.get(from) ?? []), to]);
    }
  }
  return cyclesIn(graph).map((cycle) => {
    const importer = importers.get(`${cycle[0]} ${cycle[1]}`);
    return `${importer}:1: imports lead back to its folder: ${cycle.join(" → ")}`;
  });
}

/** The shortest way back to each member of the graph that has one, unless an earlier way has passed it. */
function cyclesIn(graph: Graph): string[][] {
  const named = new Set<string>();
  const cycles: string[][] = [];
  for (const start of graph.keys()) {
    const cycle = named.has(start) ? undefined : cycleThrough(start, graph);
    if (cycle === undefined) continue;
    for (const member of cycle) named.add(member);
    cycles.push(cycle);
  }
  return cycles;
}

/** The folders in which the ways to two files part; undefined of a file that lies where they part. */
function foldersThatPart(a: string, b: string): [string | undefined, string | undefined] {
  const [left, right] = [a.split("/"), b.split("/")];
  let same = 0;
  while (left[same] === right[same]) same++;
  const folderIn = (steps: readonly string[]) =>
    same < steps.length - 1 ? steps.slice(0, same + 1).join("/") : undefined;
  return [folderIn(left), folderIn(right)];
}

function toGraph(files: ReadonlyMap<string, string>): Graph {
  const sources = [...files].filter(([path]) => isPackageSource(path));
  const known = new Set(sources.map(([path]) => path));
  return new Map(
    sources.map(([path, text]) => {
      const targets = importsOf(text)
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => resolve(path, specifier))
        .map((target) => (known.has(target) ? target : target.replace(/\.ts$/, ".tsx")));
      return [path, targets.filter((target) => known.has(target))];
    }),
  );
}

/** The shortest way from a file or folder back to it, both ends included; undefined if no imports lead back. */
function cycleThrough(start: string, graph: Graph): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const next of graph.get(path) ?? []) {
      if (next === start) return toWay(start, path, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, path);
      queue.push(next);
    }
  }
  return undefined;
}

function toWay(start: string, last: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [start];
  for (let path = last; path !== start; path = cameFrom.get(path) as string) way.unshift(path);
  return [start, ...way];
}
