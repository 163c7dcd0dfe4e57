// Makes of a package's build what its users get: one file for each entry and a few that they share, instead of one for
// each module, and only the types that entries lead to. Node.js spends most of an import on finding and opening files.
// npm runs it before it packs a package, in the package's folder, and with --undo afterwards; with --to FOLDER it leaves
// the build alone and writes to that folder. The files keep the names and the code of the sources: nothing is minified.
// With --modules it keeps the modules, for a package whose modules find files beside them, and leaves out types only.

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";

const built = "dist";
/** The build, while `dist` holds what is packed. */
const kept = "dist.modules";
const packed = "dist.packed";

/**
 * What goes into one file, by the entry that needs all of it: a limiter; responses in any place, browsers included; a
 * middleware on any runtime; a middleware on Node.js. Each takes what those before it left over, so that no import loads
 * code of a larger one.
 */
const chunks = [
  { name: "core", test: /\/index\.js$/, priority: 4 },
  { name: "response", test: /\/limit-responses\.js$/, priority: 3 },
  { name: "middleware", test: /\/(?:fetch|hono)\.js$/, priority: 2 },
  { name: "node", test: /\/node\.js$/, priority: 1 },
];

const [option, folder] = process.argv.slice(2);
if (option === "--to") {
  await bundle(/** @type {string} */ (folder));
} else {
  restore();
  if (option !== "--undo") await replaceBuild(option === "--modules" ? copyModules : bundle);
}

/** @param {(dir: string) => Promise<void> | void} make */
async function replaceBuild(make) {
  await make(packed);
  renameSync(built, kept);
  renameSync(packed, built);
}

/** @param {string} dir */
function copyModules(dir) {
  cpSync(built, dir, {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || path.endsWith(".js"),
  });
  copyTypes(dir);
}

/** @param {string} dir */
async function bundle(dir) {
  const entries = readEntries();
  const build = await rolldown({
    input: Object.fromEntries(entries.map(({ code }) => [withoutEnding(code), code])),
    external: /^[^./]/,
    platform: "neutral",
  });
  await build.write({
    dir,
    chunkFileNames: "shared/[name].js",
    comments: false,
    minifyInternalExports: false,
    codeSplitting: { groups: chunks },
  });
  copyTypes(dir);
}

/** @param {string} dir */
function copyTypes(dir) {
  for (const file of typesFrom(readEntries().map(({ types }) => types))) {
    const target = join(dir, relative(built, file));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
  }
}

/** Puts the build back, also after a run that was interrupted. A build that is newer than that run stays. */
function restore() {
  rmSync(packed, { recursive: true, force: true });
  if (!existsSync(kept)) return;
  if (existsSync(join(built, ".tsbuildinfo"))) {
    rmSync(kept, { recursive: true });
    return;
  }
  rmSync(built, { recursive: true, force: true });
  renameSync(kept, built);
}

/** @returns {{ code: string, types: string }[]} The files behind the exports of the package. */
function readEntries() {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  return Object.values(exports)
    .filter((target) => typeof target === "object")
    .map((target) => ({ code: target.default, types: target.types }));
}

/**
 * @param {string} code
 * @returns {string} The name of an entry: its path in `dist`.
 */
function withoutEnding(code) {
  return relative(built, code).slice(0, -".js".length);
}

/**
 * @param {string[]} entries
 * @returns {Set<string>} These declaration files and all that they import.
 */
function typesFrom(entries) {
  const found = new Set(entries.map((file) => join(file)));
  for (const file of found) {
    for (const [, name] of readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g))
      found.add(join(dirname(file), `${name}.d.ts`));
  }
  return found;
}
