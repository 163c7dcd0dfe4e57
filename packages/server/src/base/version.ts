// The version of the package, read from its package.json, which is two folders up from the sources and from dist
// alike.

import { readFileSync } from "node:fs";

/** `0.1.0`. */
export function readVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
