// Imports point one way, in the library and in the service. A file may use its own folder and the folders
// below it, so that the core never learns of Redis, HTTP or a framework, and no listener of another.

import { posix } from "node:path";
import {
  type Complaint,
  complain,
  isPackageSource,
  isTypeScript,
  withoutCommentsAndSamples,
} from "./rule.js";

/** The folders of a package, lowest first. Folders of one row may not import each other. */
interface Layers {
  readonly home: string;
  /** Its name, by which its own files don't import it. */
  readonly name: string;
  /** Whether it imports nothing but itself and Node. */
  readonly standsAlone?: boolean;
  readonly rows: readonly (readonly string[])[];
}

const packages: readonly Layers[] = [
  {
    home: "packages/sluice/src/",
    name: "sluice",
    rows: [
      ["base"],
      ["algorithms", "adaptive"],
      ["limits"],
      ["stores"],
      ["limiter"],
      ["rules"],
      ["http", "client"],
      ["index.ts", "internals.ts"],
      ["testing"],
    ],
  },
  {
    home: "packages/http1/src/",
    name: "sluice-http1",
    standsAlone: true,
    rows: [["clock.ts"], ["message"], ["request", "response"], ["server"], ["index.ts"]],
  },
  {
    home: "packages/server/src/",
    name: "sluice-server",
    rows: [
      ["base"],
      ["access-logs"],
      ["config"],
      ["telemetry"],
      ["database"],
      ["ledger"],
      ["core"],
      ["control"],
      ["admin", "decision", "envoy", "gateway"],
      ["service"],
      ["workers"],
      ["cli", "index.ts", "api.ts"],
    ],
  },
  {
    home: "packages/dashboard/src/",
    name: "sluice-dashboard",
    rows: [
      ["base", "style"],
      ["api"],
      ["ui"],
      ["pages"],
      ["app"],
      ["main.tsx", "playground-site.tsx"],
    ],
  },
];

/** A file imports only from its own folder and the folders below it, types included. */
export function importsPointDown(path: string, text: string): Complaint[] {
  const layers = packages.find(({ home }) => path.startsWith(home));
  if (layers === undefined || !isPackageSource(path)) return [];
  const from = folderOf(layers, path);
  return importsOf(text).flatMap(({ specifier, offset }) => {
    if (specifier === layers.name || specifier.startsWith(`${layers.name}/`))
      return [complain(path, text, offset, `imports its own package as "${specifier}"`)];
    if (!specifier.startsWith("."))
      return layers.standsAlone === true && !specifier.startsWith("node:")
        ? [complain(path, text, offset, `${layers.name} may import only Node, not "${specifier}"`)]
        : [];
    const to = folderOf(layers, resolve(path, specifier));
    const isBelow = rowOf(layers, to) < rowOf(layers, from);
    return from === to || (isBelow && rowOf(layers, from) < layers.rows.length)
      ? []
      : [complain(path, text, offset, `${from} may not import ${to} ("${specifier}")`)];
  });
}

/** The first part of a path below `home`: a folder, or a file that lies beside the folders. */
function folderOf({ home }: Layers, path: string): string {
  return path.slice(home.length).split("/")[0] as string;
}

/** A folder that is not listed may import nothing, and may be imported by none. */
function rowOf({ rows }: Layers, folder: string): number {
  const row = rows.findIndex((folders) => folders.includes(folder));
  return row === -1 ? rows.length : row;
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

/** One import, and where it stands in the file. */
export interface Import {
  readonly specifier: string;
  readonly offset: number;
}

const importPattern = /(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)"([^"\n]+)"/gm;

/** Every import and re-export of a file. */
export function importsOf(text: string): Import[] {
  return [...withoutCommentsAndSamples(text).matchAll(importPattern)].map((match) => ({
    specifier: match[1] as string,
    offset: match.index,
  }));
}

/** The path of the file that a relative import names. */
export function resolve(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier.replace(/\.js$/, ".ts"));
}

function homeOf(path: string): string {
  const [top, second] = path.split("/");
  if (top === "packages") return `packages/${second}`;
  return path.includes("/") ? (top as string) : "";
}
