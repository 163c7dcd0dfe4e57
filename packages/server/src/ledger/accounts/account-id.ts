// How accounts are identified. Keys can be long, and can hold what databases don't keep (NUL, halves of surrogate pairs),
// so the id is a hash, and the subject is the key in a form that every database and every index takes.

import { hash } from "node:crypto";

/** What one account is about. */
export interface AccountName {
  /** The id of the rule. */
  readonly meter: string;
  /** Which of its limits. */
  readonly part: number;
  /** The key as the rule counts it, in the form of {@link toSubject}. */
  readonly subject: string;
  readonly startsAtMs: number;
}

/** An index entry of PostgreSQL takes 2,700 bytes, and a character up to four. */
const SUBJECT_LENGTH_MAX = 500;
const KEPT_LENGTH = 400;
/** NUL, halves of surrogate pairs, and the mark of what was replaced. */
const NOT_KEPT = /[\0\\\p{Cs}]/gu;

/** The id of an account: 22 characters, the same in every process. */
export function accountIdOf({ meter, part, subject, startsAtMs }: AccountName): string {
  return digest(JSON.stringify([meter, part, subject, startsAtMs]));
}

/** A key as the ledger keeps it. Keys that differ have different subjects. Ids of requests are kept like this too. */
export function toSubject(key: string): string {
  const subject = key.replace(NOT_KEPT, escapeOne);
  if (subject.length <= SUBJECT_LENGTH_MAX) return subject;
  return `${sliceWhole(subject, KEPT_LENGTH)}\\#${digest(subject)}`;
}

function escapeOne(character: string): string {
  return character === "\\"
    ? "\\\\"
    : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The beginning, without half of a pair at its end. */
function sliceWhole(text: string, length: number): string {
  const cut = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** 128 bits: with 10^12 accounts, two share an id with a probability below 10^-14. */
function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}
