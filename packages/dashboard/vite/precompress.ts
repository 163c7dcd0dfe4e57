// A step of the build: replaces each text file by a compressed one, so that the service never compresses anything itself. The
// few clients that take no gzip get what the service unpacks. Brotli would save a tenth, but browsers take it over TLS only,
// and a second copy of each file would be a tenth of the package.

import { readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXT = /\.(?:js|css|html|svg|json)$/;

/** Writes `NAME.gz` in the place of each text file of the build. */
export function precompress(): Plugin {
  let folder = "";
  return {
    name: "precompress",
    apply: "build",
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir);
    },
    closeBundle: () => {
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
        if (TEXT.test(name)) compress(join(folder, name));
    },
  };
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
  unlinkSync(path);
}
