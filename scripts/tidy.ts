// The house rules, run over the whole repository: `npm run tidy` prints what breaks
// them and fails. The tests run the same list.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  keepsTypes,
  loadsSynchronously,
  namedInKebabCase,
  namesUnits,
  opensWithProse,
  runsEveryTest,
  staysShort,
  takesChanceAsArgument,
  takesTimeFromClock,
} from "./tidy/code-rules.js";
import { foldersFormNoCycle, importsFormNoCycle } from "./tidy/import-cycles.js";
import { importsPointDown, importsStayInside } from "./tidy/import-rules.js";
import type { Complaint, FileRule, TreeRule } from "./tidy/rule.js";
import {
  leavesNoNotes,
  locksNoAddress,
  namesNoMachine,
  namesNoRegistry,
  usesPlainWords,
} from "./tidy/text-rules.js";
import { explainsDependencies, linksLeadSomewhere } from "./tidy/tree-rules.js";

const fileRules: readonly FileRule[] = [
  importsPointDown,
  importsStayInside,
  opensWithProse,
  staysShort,
  namedInKebabCase,
  runsEveryTest,
  keepsTypes,
  namesUnits,
  takesChanceAsArgument,
  takesTimeFromClock,
  loadsSynchronously,
  leavesNoNotes,
  namesNoMachine,
  namesNoRegistry,
  locksNoAddress,
  usesPlainWords,
];

const treeRules: readonly TreeRule[] = [
  explainsDependencies,
  linksLeadSomewhere,
  importsFormNoCycle,
  foldersFormNoCycle,
];

/** Every breach of a house rule in these files; empty when the house is tidy. */
export function findBreaches(files: ReadonlyMap<string, string>): Complaint[] {
  const alone = [...files].flatMap(([path, text]) => fileRules.flatMap((rule) => rule(path, text)));
  return [...alone, ...treeRules.flatMap((rule) => rule(files))];
}

// `.git` is a file in a worktree.
const skipped = new Set([".git", ".build", "coverage", "dist", "node_modules"]);
const built = new Set(["packages/server/dashboard"]);

const PICTURE = /\.png$/;

/** The text files and pictures below `root`, by path from there; what is built or installed is left out. */
export function readTree(root: string): Map<string, string> {
  return new Map(
    listFiles(root, "")
      .map((path): [string, string] => [path, readFileSync(join(root, path), "utf8")])
      // Links lead to pictures, but there is nothing to read in them.
      .map(([path, text]): [string, string] => [path, PICTURE.test(path) ? "" : text])
      .filter(([, text]) => !text.includes("\0")),
  );
}

function listFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (skipped.has(entry.name) || built.has(path)) return [];
    if (entry.isDirectory()) return listFiles(root, path);
    return entry.isFile() ? [path] : [];
  });
}

if (process.argv[1] === import.meta.filename) {
  const breaches = findBreaches(readTree(process.cwd()));
  for (const breach of breaches) console.error(breach);
  console.log(breaches.length === 0 ? "tidy" : `${breaches.length} breaches of the house rules`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}
