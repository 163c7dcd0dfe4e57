// Imports point one way: algorithms ← stores ← limiter, rules ← http. A file may
// use its own layer and the layers below it, so that the core never learns of
// Redis, HTTP or a framework.

import { posix } from "node:path";
import {
  type Complaint,
  complain,
  isPackageSource,
  isTypeScript,
  withoutCommentsAndSamples,
} from "./rule.js";

const library = "packages/sluice/src/";

/**
 * What each layer may use besides itself. `basics` are the plain files beside limiter.ts, except
 * limits.ts: a limit is an algorithm and its numbers, so it counts as one of the algorithms.
 */
const layersBelow: Readonly<Record<string, readonly string[]>> = {
  basics: [],
  algorithms: ["basics"],
  stores: ["basics", "algorithms"],
  limiter: ["basics", "algorithms", "stores"],
  rules: ["basics", "algorithms", "stores", "limiter"],
  http: ["basics", "algorithms", "stores", "limiter", "rules"],
  client: ["basics"],
};

/** Inside the library, a file imports only from its own layer and the layers below. */
export function importsPointDown(path: string, text: string): Complaint[] {
  if (!path.startsWith(library) || !isPackageSource(path)) return [];
  const from = layerOf(path);
  return importsOf(text).flatMap(({ specifier, offset }) => {
    if (/^sluice(\/|$)/.test(specifier))
      return [complain(path, text, offset, `imports its own package as "${specifier}"`)];
    if (!specifier.startsWith(".")) return [];
    const to = layerOf(resolve(path, specifier));
    return mayImport(path, from, to)
      ? []
      : [complain(path, text, offset, `${from} may not import ${to} ("${specifier}")`)];
  });
}

const service = "packages/server/src/";
const doors = ["admin", "decision", "envoy", "gateway"];

/** In the service no door knows another: what they share is in `http/`, or below all of them. */
export function doorsStayApart(path: string, text: string): Complaint[] {
  const from = doorOf(path);
  if (from === undefined || !isPackageSource(path)) return [];
  return importsOf(text).flatMap(({ specifier, offset }) => {
    const to = specifier.startsWith(".") ? doorOf(resolve(path, specifier)) : undefined;
    return to === undefined || to === from
      ? []
      : [complain(path, text, offset, `${from} may not import ${to} ("${specifier}")`)];
  });
}

function doorOf(path: string): string | undefined {
  const [folder] = path.startsWith(service) ? path.slice(service.length).split("/") : [];
  return doors.find((door) => door === folder);
}

/** A relative import stays inside its package; another package is imported by name. */
export function importsStayInside(path: string, text: string): Complaint[] {
  if (!isTypeScript(path)) return [];
  const home = homeOf(path);
  return importsOf(text)
    .filter(({ specifier }) => specifier.startsWith("."))
    .filter(({ specifier }) => homeOf(resolve(path, specifier)) !== home)
    .map(({ specifier, offset }) =>
      complain(path, text, offset, `"${specifier}" leaves ${home || "the root"}`),
    );
}

interface Import {
  readonly specifier: string;
  readonly offset: number;
}

const importPattern = /(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)"([^"]+)"/gm;

function importsOf(text: string): Import[] {
  return [...withoutCommentsAndSamples(text).matchAll(importPattern)].map((match) => ({
    specifier: match[1] as string,
    offset: match.index,
  }));
}

function resolve(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier.replace(/\.js$/, ".ts"));
}

function layerOf(path: string): string {
  const [first, ...rest] = path.slice(library.length).split("/");
  if (rest.length > 0) return first as string;
  if (first === "index.ts") return "index";
  if (first === "limits.ts") return "algorithms";
  return /^limiter\b/.test(first as string) ? "limiter" : "basics";
}

function mayImport(path: string, from: string, to: string): boolean {
  if (from === to || from === "testing") return true;
  if (to === "testing" || to === "index") return false;
  return path.endsWith("/index.ts") || (layersBelow[from] ?? []).includes(to);
}

function homeOf(path: string): string {
  const [top, second] = path.split("/");
  if (top === "packages") return `packages/${second}`;
  return path.includes("/") ? (top as string) : "";
}
