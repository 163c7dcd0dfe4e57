// Subjects: the callers that overrides and blocks are about, written as `tenant:acme`, `user:42`, `apiKey:7Hq2mZpVw9Tb`
// or, for blocks, `ip:203.0.113.0/24`.

import { toCidrList } from "sluice/rules";
import { type Shape, stringFor } from "sluice/shapes";

/** What a subject is named by. */
export type SubjectKind = "ip" | "user" | "tenant" | "apiKey";

/** A caller, or a range of addresses. */
export interface Subject {
  readonly by: SubjectKind;
  readonly value: string;
}

const SUBJECT_LENGTH_MAX = 300;
const CALLER_KINDS: readonly SubjectKind[] = ["tenant", "user", "apiKey"];
const ALL_KINDS: readonly SubjectKind[] = ["ip", ...CALLER_KINDS];

/** NUL, and halves of characters that take two: no database keeps them as they are. */
const NOT_KEPT = /[\0\p{Cs}]/u;

/** The subject that a string names; undefined if it names none. */
export function toSubject(written: string): Subject | undefined {
  const colon = written.indexOf(":");
  const by = ALL_KINDS.find((kind) => kind === written.slice(0, colon));
  const value = written.slice(colon + 1);
  if (by === undefined || value === "" || value !== value.trim()) return undefined;
  if (NOT_KEPT.test(value)) return undefined;
  return by !== "ip" || isRange(value) ? { by, value } : undefined;
}

/** A caller, kept as it was written. */
export const callerSubject: Shape<string> = subjectOf(
  CALLER_KINDS,
  "a caller such as tenant:acme, user:42 or apiKey:7Hq2mZpVw9Tb",
);

/** A caller or a range of addresses, kept as it was written. */
export const anySubject: Shape<string> = subjectOf(
  ALL_KINDS,
  "an address, a range or a caller, such as ip:203.0.113.0/24, tenant:acme, user:42 or apiKey:7Hq2mZpVw9Tb",
);

function subjectOf(kinds: readonly SubjectKind[], what: string): Shape<string> {
  return stringFor({
    what,
    pattern: `^(${kinds.join("|")}):`,
    lengthMax: SUBJECT_LENGTH_MAX,
    toValue: (written) => {
      const subject = toSubject(written);
      return subject !== undefined && kinds.includes(subject.by) ? written : undefined;
    },
  });
}

function isRange(value: string): boolean {
  try {
    toCidrList([value]);
    return true;
  } catch {
    return false;
  }
}
