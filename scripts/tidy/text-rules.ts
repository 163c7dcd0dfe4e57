// House rules for any text file: nothing left lying about, and nothing that is
// true on one machine only.

import { type Complaint, complainOfMatches } from "./rule.js";

/**
 * Words that docs/glossary.md and plain English replace, with what to write instead. A word is listed once the
 * repository is free of it.
 */
const WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  // Written in halves so that the rule does not find itself.
  {
    pattern: words("do" + "ors?"),
    instead: "listener, middleware or handler",
  },
  {
    pattern: words("at on" + "ce"),
    instead: "immediately, synchronously, together or in one call",
  },
  {
    pattern: words("no" + "body|some" + "body|any" + "body|who" + "ever"),
    instead: "who it is: the caller, the client, the operator, no request",
  },
  {
    pattern: words("to" + "ld|tel" + "ls"),
    instead: "reports, says, shows, is notified or is sent",
  },
  { pattern: words("belie" + "ve[sd]"), instead: "trusts or trusted" },
  { pattern: words("an" + "ew"), instead: "again, from zero or with a full limit" },
  {
    pattern: words("left al" + "one"),
    instead: "not read, not changed, or that a breaker is open",
  },
];

function words(source: string): RegExp {
  return new RegExp(`\\b(?:${source})\\b`, "gi");
}

/** Prose, comments and strings use the standard term. The changelog may quote old names. */
export function usesPlainWords(path: string, text: string): Complaint[] {
  if (!/\.(?:tsx?|mjs|md|lua|ya?ml)$/.test(path) || path === "CHANGELOG.md") return [];
  return WORDS.flatMap(({ pattern, instead }) =>
    complainOfMatches(path, text, pattern, (found) => `"${found}": write ${instead}`),
  );
}

/** No notes of work left over: an open end is an issue, not a comment. */
export function leavesNoNotes(path: string, text: string): Complaint[] {
  // Written in halves so that the rule does not find itself.
  const notes = new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b`, "g");
  return complainOfMatches(path, text, notes, (found) => `${found} left in the text`);
}

/** No path that exists on one person's machine only. */
export function namesNoMachine(path: string, text: string): Complaint[] {
  const places = /(?<![\w.*)}-])\/(?:home|Users|root|work)\/\w+|\b[A-Z]:\\Users\\/g;
  return complainOfMatches(path, text, places, (found) => `machine path ${found}`);
}

/** No package registry by address: where packages come from is the reader's choice. */
export function namesNoRegistry(path: string, text: string): Complaint[] {
  const hosts = /\/\/[\w.-]*\bregistry\b[\w.-]*\.[a-z]{2,}|^\s*(?:@[\w-]+:)?registry\s*=.*$/gm;
  return complainOfMatches(path, text, hosts, (found) => `registry address ${found.trim()}`);
}

/** The lock file says which packages, not where one machine fetched them. */
export function locksNoAddress(path: string, text: string): Complaint[] {
  if (!path.endsWith("package-lock.json")) return [];
  return complainOfMatches(path, text, /"resolved":\s*"[a-z+]+:[^"]*"/g, (found) => found);
}
