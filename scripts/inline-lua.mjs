// Joins the Lua of the Redis store into scripts that a server can load: each `-- @include name` is
// replaced by that file, once in each script, and comments are left out. Runs before every build;
// plain JavaScript, because it runs before anything is compiled.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../packages/sluice/src/stores/redis/lua");
const target = join(folder, "scripts.ts");

/** The operations, one script each. Every other file is a part of them. */
const operations = ["check", "decide", "peek", "debit", "settle", "grant", "block"];

/**
 * @param {string} name
 * @param {Set<string>} seen
 * @returns {string}
 */
function inline(name, seen) {
  seen.add(name);
  const lines = readFileSync(join(folder, `${name}.lua`), "utf8").split("\n");
  return lines.flatMap((line) => {
    const part = /^-- @include (\S+)$/.exec(line)?.[1];
    if (part !== undefined) return seen.has(part) ? [] : [inline(part, seen)];
    return /^\s*(--|$)/.test(line) ? [] : [line];
  }).join("\n");
}

const used = new Set();
const scripts = operations.map((name) => {
  const seen = new Set();
  const source = inline(name, seen);
  for (const part of seen) used.add(part);
  const sha1 = createHash("sha1").update(source).digest("hex");
  return `  ${name}: {\n    sha1: "${sha1}",\n    source: ${JSON.stringify(source)},\n  },`;
});
const unused = readdirSync(folder)
  .filter((file) => file.endsWith(".lua"))
  .filter((file) => !used.has(file.slice(0, -".lua".length)));
if (unused.length > 0) throw new Error(`no script includes ${unused.join(", ")}`);

const text = `// Made from the .lua files of this folder by scripts/inline-lua.mjs, at every build. Not edited.

/** A script as a server loads it. */
export interface Script {
  readonly sha1: string;
  readonly source: string;
}

/** One script for each operation. */
export const scripts = {
${scripts.join("\n")}
} satisfies Record<string, Script>;
`;
let before = "";
try {
  before = readFileSync(target, "utf8");
} catch {
  // Not made yet.
}
// Written only if it changed, so that an incremental build has nothing to do.
if (before !== text) writeFileSync(target, text);
