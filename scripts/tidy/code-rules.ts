// House rules for a single source file: how it opens, how long it is, what it is
// called, and what it may not contain.

import { posix } from "node:path";
import {
  type Complaint,
  complain,
  complainOfMatches,
  isPackageSource,
  isTest,
  isTypeScript,
  withoutComments,
  withoutCommentsAndStrings,
} from "./rule.js";

const proseLinesMax = 6;
const fileLinesMax = 350;

/** Every source file opens with one to six lines that say what it is and why it exists. */
export function opensWithProse(path: string, text: string): Complaint[] {
  if (!isTypeScript(path) || isTest(path)) return [];
  const lines = openingCommentOf(text).filter((line) => line !== "" && !line.startsWith("@"));
  if (lines.length === 0) return [complain(path, text, 0, "opens without saying what it is")];
  if (lines.length > proseLinesMax)
    return [complain(path, text, 0, `opens with ${lines.length} lines of comment, not 1 to 6`)];
  return [];
}

/** No source file is longer than 350 lines. Tests and tables of cases may be. */
export function staysShort(path: string, text: string): Complaint[] {
  if (!isTypeScript(path) || isTest(path) || isTable(path)) return [];
  const lines = text.trimEnd().split("\n").length;
  return lines > fileLinesMax
    ? [complain(path, text, text.length - 1, `${lines} lines, the bound is ${fileLinesMax}`)]
    : [];
}

/** Source files and their folders are named in kebab-case. */
export function namedInKebabCase(path: string, text: string): Complaint[] {
  if (!/\.(?:[cm]?[jt]s|lua|sql)$/.test(path)) return [];
  const bad = path.split("/").find((part) => !/^\.?[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(part));
  return bad === undefined ? [] : [complain(path, text, 0, `"${bad}" is not kebab-case`)];
}

/** No test is parked or singled out: a test runs, or it is not there. */
export function runsEveryTest(path: string, text: string): Complaint[] {
  if (!isTest(path)) return [];
  const parked = /\b(?:it|test|describe|suite)(?:\.\w+)*\.(?:only|skip|todo|skipIf|runIf|fails)\b/g;
  return complainOfMatches(path, withoutCommentsAndStrings(text), parked, (found) => found);
}

/** The type system is not talked out of its job. */
export function keepsTypes(path: string, text: string): Complaint[] {
  if (!isTypeScript(path)) return [];
  const casts = complainOfMatches(path, withoutCommentsAndStrings(text), /\bas any\b/g, (f) => f);
  const pragmas = complainOfMatches(
    path,
    text,
    /^\s*(?:\/\/|\/?\*+)\s*@ts-(?:ignore|nocheck)\b/gm,
    (f) => f.trim(),
  );
  return [...casts, ...pragmas];
}

/** A number that measures time says its unit: `timeoutMs`, never a bare `timeout`. */
export function namesUnits(path: string, text: string): Complaint[] {
  if (!isPackageSource(path)) return [];
  const unitless = /\b(?:timeout|delay|interval|duration|ttl)\??\s*:\s*number\b/gi;
  return complainOfMatches(
    path,
    withoutCommentsAndStrings(text),
    unitless,
    (found) => `"${found}" has no unit in its name`,
  );
}

/** Time, timers and chance come in as arguments; clock.ts is where they are taken from. */
export function takesTimeFromClock(path: string, text: string): Complaint[] {
  if (!isPackageSource(path) || posix.basename(path) === "clock.ts") return [];
  const ambient =
    /\b(?:Date\.now|performance\.now|process\.hrtime|Math\.random|set(?:Timeout|Interval|Immediate))\b|\bnew Date\(\s*\)/g;
  return complainOfMatches(
    path,
    withoutCommentsAndStrings(text),
    ambient,
    (found) => `${found} outside clock.ts`,
  );
}

/** Where chance is taken from: seeds, names of receipts, free ports, and the defaults of arguments. */
const chanceFiles = [
  "dashboard/src/base/random-id.ts",
  "packages/test-servers/src/free-port.ts",
  "packages/server/src/base/random-id.ts",
  "packages/server/src/control/secret-format.ts",
  "packages/server/src/telemetry/random.ts",
  "src/client/client-random.ts",
  "src/http/identity/secrets.ts",
  "src/http/response/retry-after.ts",
  "src/stores/memory/memory-options.ts",
  "src/stores/redis/script-calls/brief-receipts.ts",
  "src/stores/redis/script-calls/decision-batches.ts",
  "src/stores/regions/leased/home-requests.ts",
  "src/stores/regions/merged/merged-keys.ts",
];

/** Chance comes in as an argument too, so that a test can pin it. */
export function takesChanceAsArgument(path: string, text: string): Complaint[] {
  if (!isPackageSource(path) || chanceFiles.some((file) => path.endsWith(file))) return [];
  return complainOfMatches(
    path,
    withoutCommentsAndStrings(text),
    /\b(?:getRandomValues|random(?:Bytes|UUID|Int))\b/g,
    (found) => `${found} outside the files that chance is taken from`,
  );
}

/** The library waits for nothing while it loads, so that `require()` can load it too. */
export function loadsSynchronously(path: string, text: string): Complaint[] {
  if (!isPackageSource(path)) return [];
  return complainOfMatches(
    path,
    withoutComments(text),
    /^(?:(?:export )?(?:const|let) .*= )?await\b/gm,
    () => "top-level await",
  );
}

function isTable(path: string): boolean {
  return /(?:^|[/-])(?:cases|tables)(?:\/|\.ts$)/.test(path);
}

function openingCommentOf(text: string): string[] {
  const body = text.replace(/^#!.*\n/, "").trimStart();
  const block = /^\/\*\*?([\s\S]*?)\*\//.exec(body);
  if (block)
    return (block[1] as string).split("\n").map((line) => line.replace(/^\s*\*?\s*/, "").trim());
  const lines = /^(?:\/\/.*(?:\n|$))+/.exec(body)?.[0] ?? "";
  return lines.split("\n").map((line) => line.replace(/^\/\/\s*/, "").trim());
}
