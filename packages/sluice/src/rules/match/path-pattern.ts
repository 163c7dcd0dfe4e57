// Path patterns: in `/users/:id` the parameter matches any one segment, as `*` does; a `*` at the end matches
// everything below, and the path without it too. Patterns are normalised in the same way as the paths of requests.

import { SluiceError, show } from "../../base/errors.js";
import { escapeInPath } from "../normalize/escape.js";
import { toPathSegments } from "./normalize-path.js";
import { PATTERN_SEGMENTS_MAX } from "./path-variants.js";

const PARAMETER = /^:[\w-]{1,64}$/;

/** A pattern, read. Made by {@link toPattern}. */
export interface PathPattern {
  /** In its one form: `/Users/:id/` and `/users/:id` have the same one. */
  readonly text: string;
  /** Segment by segment the literal that has to stand there, or undefined where anything may. */
  readonly literals: readonly (string | undefined)[];
  /** The same as the text has them: `users`, `:id`, `*`. */
  readonly names: readonly string[];
  /** Whether everything below matches too. */
  readonly matchesBelow: boolean;
}

/** Reads a pattern. Throws an error that says what was seen if it is invalid. */
export function toPattern(written: string): PathPattern {
  if (typeof written !== "string" || !written.startsWith("/")) {
    refusePattern(written, "must be a string that starts with /");
  }
  if (/[?#;\\]/.test(written)) refusePattern(written, "can't contain ? # ; or \\");
  const parts = written.split("/").filter((part) => part !== "");
  const matchesBelow = parts.at(-1) === "*";
  if (matchesBelow) parts.pop();
  if (parts.length > PATTERN_SEGMENTS_MAX) {
    refusePattern(written, `can't have more than ${PATTERN_SEGMENTS_MAX} segments`);
  }
  const literals = parts.map((part) => toLiteral(part, written));
  const names = parts.map((part, i) => {
    const literal = literals[i];
    return literal === undefined ? part : escapeInPath(literal);
  });
  return {
    text: `/${[...names, ...(matchesBelow ? ["*"] : [])].join("/")}`,
    literals,
    names,
    matchesBelow,
  };
}

function toLiteral(part: string, written: string): string | undefined {
  if (part === "*" || PARAMETER.test(part)) return undefined;
  if (/[:*]/.test(part)) {
    refusePattern(
      written,
      `has ${show(part)}: a segment is a word, :name or *, and %3A or %2A where : or * is meant`,
    );
  }
  const [literal] = toPathSegments(`/${part}`);
  if (literal === undefined || literal === "..") refusePattern(written, "can't contain . or ..");
  return literal;
}

function refusePattern(written: unknown, why: string): never {
  throw new SluiceError("SLUICE_OPTION_INVALID", `a path pattern ${why}, got ${show(written)}`);
}

/** Whether a path fits one pattern. Rules are matched by `PathTrie`, which looks through all patterns together. */
export function fitsPattern(pattern: PathPattern, segments: readonly string[]): boolean {
  const { literals, matchesBelow } = pattern;
  if (matchesBelow ? segments.length < literals.length : segments.length !== literals.length)
    return false;
  for (let i = 0; i < literals.length; i++) {
    if (literals[i] !== undefined && literals[i] !== segments[i]) return false;
  }
  return true;
}

/** What a path is under a pattern that it fits: parameters keep their name, each `*` is filled in. */
export function fillPattern(pattern: PathPattern, segments: readonly string[]): string {
  let text = "";
  for (let i = 0; i < segments.length; i++) {
    const name = pattern.names[i];
    text += `/${name === undefined || name === "*" ? escapeInPath(segments[i]) : name}`;
  }
  return text === "" ? "/" : text;
}

/** A path in its one form. */
export function toPathText(segments: readonly string[]): string {
  return segments.length === 0 ? "/" : `/${segments.map(escapeInPath).join("/")}`;
}
