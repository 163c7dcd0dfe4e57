// No files of a package import each other in a circle, types included: each can be read, moved and tested with
// only those below it in mind.

import { importsOf, resolve } from "./import-rules.js";
import { type Complaint, isPackageSource } from "./rule.js";

type Graph = ReadonlyMap<string, readonly string[]>;

/** One complaint for each file from which imports lead back to it, with the shortest way; the first of a circle says it. */
export function importsFormNoCycle(files: ReadonlyMap<string, string>): Complaint[] {
  const graph = toGraph(files);
  const named = new Set<string>();
  const complaints: Complaint[] = [];
  for (const path of graph.keys()) {
    if (named.has(path)) continue;
    const cycle = cycleThrough(path, graph);
    if (cycle === undefined) continue;
    for (const member of cycle) named.add(member);
    complaints.push(`${path}:1: imports lead back to it: ${cycle.join(" → ")}`);
  }
  return complaints;
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

/** The shortest way from a file back to it, both ends included; undefined if no imports lead back. */
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
