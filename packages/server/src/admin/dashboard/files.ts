// The files of the dashboard, read once: a few hundred kilobytes, as they were built and compressed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** A file, as it is and compressed. */
export interface DashboardFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Beside `dist` and `src` of this package. */
const FOLDER = fileURLToPath(new URL("../../../dashboard/", import.meta.url));

/** The files by their paths below the folder; empty if the dashboard was not built. */
export function readDashboardFiles(folder = FOLDER): ReadonlyMap<string, DashboardFile> {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.flatMap((name): [string, DashboardFile][] => {
    const type = TYPES[extname(name)];
    if (type === undefined) return [];
    const read = (ending: string) =>
      names.includes(name + ending) ? readFileSync(folder + name + ending) : undefined;
    const bytes = readFileSync(folder + name);
    return [[name.replaceAll("\\", "/"), { type, bytes, br: read(".br"), gzip: read(".gz") }]];
  });
  return new Map(files);
}
