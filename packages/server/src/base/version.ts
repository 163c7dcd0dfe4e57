// The version of the package, from its manifest: the same two folders up from the sources and from dist.

import { readFileSync } from "node:fs";

/** `0.1.0`. */
export function readVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
