// Joins the Lua of the Redis store into scripts that a server can load: each `-- @include name` is
// replaced by that file, once in each script, comments are left out, and constants are replaced by what they are.
// Runs before every build; plain JavaScript, because it runs before anything is compiled.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const folder = join(import.meta.dirname, "../packages/sluice/src/stores/redis/lua");
const target = join(folder, "scripts.ts");

/** A number that is not negative (`--1` would be a comment), or a string. */
const IS_LITERAL = /^(\d[\d.e]*|"[^"]*")$/;

/** A line between two pieces of a script, where a part was included. No script has such a character. */
const EDGE = "\u0001";

/** The operations, one script each. Every other file is a part of them. */
const operations = ["check", "decide", "peek", "debit", "settle", "grant", "block", "escalate",
  "take", "deposit", "restore", "withdraw", "home", "record"];

/** Those that the home region's store runs only for callers of its epoch: each has a second script that checks it first. */
const fenced = ["check", "decide", "peek", "debit", "settle", "grant"];

/** Where each file is, by its name: includes name a file in any of the folders. */
const paths = new Map(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".lua"))
    .map((file) => [basename(file, ".lua"), join(folder, file)]),
);

/**
 * @param {string} name
 * @param {Set<string>} seen
 * @returns {string}
 */
function inline(name, seen) {
  seen.add(name);
  const path = paths.get(name);
  if (path === undefined) throw new Error(`there is no ${name}.lua`);
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line) => {
    const part = /^-- @include (\S+)$/.exec(line)?.[1];
    if (part !== undefined) return seen.has(part) ? [] : [EDGE, inline(part, seen), EDGE];
    return /^\s*(--|$)/.test(line) ? [] : [line];
  }).join("\n");
}

/**
 * Replaces constants (`local NAME = 1`, at the top level) by their numbers and strings. A constant is a variable to
 * Lua: it is set at every call of the script, and each function that uses it has to capture it first.
 *
 * @param {string} source
 * @returns {string}
 */
function inlineConstants(source) {
  /** @type {Map<string, string>} */
  const constants = new Map();
  const rest = source.replace(/^local ([A-Z][A-Z_, ]*) = (.+)\n/gm, (line, names, values) => {
    const literals = values.split(", ");
    if (!literals.every((/** @type {string} */ literal) => IS_LITERAL.test(literal))) return line;
    for (const [i, name] of names.split(", ").entries()) constants.set(name, literals[i]);
    return "";
  });
  // Strings first, so that a name inside one stays.
  return rest.replace(/"[^"\n]*"|\b[A-Z][A-Z_]*\b/g, (word) => constants.get(word) ?? word);
}

const used = new Set();
/** The pieces of all scripts, each once: what scripts share would be two thirds of them. @type {Map<string, number>} */
const pieces = new Map();

/**
 * @param {string} name
 * @param {string[]} before Parts that stand in front of the operation.
 * @returns {string} The line of the script.
 */
function toLine(name, before) {
  const seen = new Set();
  const parts = [...before, name].map((part) => inline(part, seen));
  const source = inlineConstants(parts.join(`\n${EDGE}\n`));
  for (const part of seen) used.add(part);
  const own = source.split(`${EDGE}\n`).filter((piece) => piece !== "");
  for (const piece of own) if (!pieces.has(piece)) pieces.set(piece, pieces.size);
  const sha1 = createHash("sha1").update(own.join("")).digest("hex");
  const places = own.map((piece) => pieces.get(piece)).join(", ");
  return `  ${name}: toScript("${sha1}", ${places}),`;
}

const scripts = operations.map((name) => toLine(name, []));
const fencedScripts = fenced.map((name) => toLine(name, ["fenced"]));
const unused = [...paths.keys()].filter((name) => !used.has(name));
if (unused.length > 0) throw new Error(`no script includes ${unused.join(", ")}`);

const text = `// Made from the .lua files of this folder by scripts/inline-lua.mjs, at every build. Not edited.

/** A script as a server loads it. */
export interface Script {
  readonly sha1: string;
  readonly source: string;
}

/** What scripts are made of; most pieces are in several. */
const PIECES = [
${[...pieces.keys()].map((piece) => `  ${JSON.stringify(piece)},`).join("\n")}
];

/** One script for each operation. */
export const scripts = {
${scripts.join("\n")}
} satisfies Record<string, Script>;

/** The same for callers of the home region: each refuses those of another epoch than the store's. */
export const fencedScripts = {
${fencedScripts.join("\n")}
} satisfies Partial<Record<keyof typeof scripts, Script>>;

function toScript(sha1: string, ...places: number[]): Script {
  return { sha1, source: places.map((place) => PIECES[place]).join("") };
}
`;
let before = "";
try {
  before = readFileSync(target, "utf8");
} catch {
  // Not made yet.
}
// Written only if it changed, so that an incremental build has nothing to do.
if (before !== text) writeFileSync(target, text);
