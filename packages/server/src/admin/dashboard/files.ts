// The files of the dashboard, read once: a few hundred kilobytes, compressed when they were built.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** A file as it is in the package. */
export interface DashboardFile {
  readonly type: string;
  readonly gzip: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const GZIP = ".gz";

/** Beside `dist` and `src` of this package. */
const FOLDER = fileURLToPath(new URL("../../../dashboard/", import.meta.url));

/** The files by their paths below the folder; empty if the dashboard was not built. */
export function readDashboardFiles(folder = FOLDER): ReadonlyMap<string, DashboardFile> {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(GZIP))
    .map((name) => name.slice(0, -GZIP.length));
  return new Map(names.map((name) => [name.replaceAll("\\", "/"), readFile(folder + name)]));
}

function readFile(path: string): DashboardFile {
  return {
    type: TYPES[extname(path)] ?? "application/octet-stream",
    gzip: readFileSync(`${path}${GZIP}`),
  };
}
