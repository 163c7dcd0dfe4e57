// Paths, normalised once, so that no other way of writing a path escapes the rule that is about it:
// case, percent-escapes, doubled and trailing slashes, dot segments, `;parameters`, Unicode form, and
// the scheme and host of a whole URL make no difference. Where servers differ about a path it has
// variants. The work is linear in the length of the path.
//
// An escaped slash stays part of its segment, as the routers of Express, Fastify and Hono have it. To Python's servers,
// which route by the decoded path, it is a slash: that is a variant too.

import { foldCase } from "../normalize/normalize-string.js";
import { decodeOnce } from "../normalize/percent-decode.js";
import { toPathVariants } from "./path-variants.js";

// Taken off their prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt, slice } = String.prototype;

const HASH = 0x23;
const PERCENT = 0x25;
const SLASH = 0x2f;
const SEMICOLON = 0x3b;
const QUESTION = 0x3f;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const BACKSLASH = 0x5c;
const ASCII_MAX = 0x7f;

/** An escaped slash or backslash. */
const ESCAPED_SLASH = /^%(?:2f|5c)$/i;

const NONE: readonly string[] = [];
const NO_OTHERS: ReadPath["others"] = [];

/** A path as it is matched. */
export interface ReadPath {
  /** The segments, none for `/`. A segment holds a slash only where it was escaped. */
  readonly segments: readonly string[];
  /**
   * What other servers take it for, if it is a path that servers differ about; see {@link toPathVariants}.
   * A rule is about a path if it is about any variant of it.
   */
  readonly others: readonly (readonly string[])[];
}

/** The segments of a request target: a path with or without a query, or a whole URL. */
export function toPathSegments(target: string): readonly string[] {
  return readPath(target).segments;
}

/** Reads a request target in the way of {@link toPathSegments}. */
export function readPath(target: string): ReadPath {
  const start = charCodeAt.call(target, 0) === SLASH ? 1 : skipAuthority(target);
  const segments: string[] = [];
  let isOdd = start !== 1 && !isBehindHost(target, start);
  let hasDots = false;
  let hasEscapedSlash = false;
  let endsEmpty = false;
  let from = start;
  let isUnescaped = true;
  let isLower = true;
  for (let i = start; i <= target.length; i++) {
    const code = i < target.length ? charCodeAt.call(target, i) : QUESTION;
    const isEnd = code === QUESTION || code === HASH;
    if (code === SLASH || isEnd || code === BACKSLASH) {
      isOdd ||= code === BACKSLASH || code === HASH || (i === from && !isEnd);
      if (i > from) {
        const segment = toSegment(slice.call(target, from, i), isUnescaped, isLower);
        if (segment !== "") segments.push(segment);
        hasDots ||= segment === "." || segment === "..";
      }
      if (isEnd) {
        endsEmpty = i === from;
        break;
      }
      from = i + 1;
      isUnescaped = true;
      isLower = true;
    } else if (code === PERCENT || code === SEMICOLON || code > ASCII_MAX) {
      isUnescaped = false;
      isOdd ||= code === SEMICOLON;
      hasEscapedSlash ||= code === PERCENT && ESCAPED_SLASH.test(slice.call(target, i, i + 3));
    } else if (code >= UPPER_A && code <= UPPER_Z) {
      isLower = false;
    }
  }
  if (isOdd || hasDots || hasEscapedSlash) {
    const primary = hasDots ? resolveDots(segments) : segments;
    const paths = toPaths(target, start);
    if (!hasEscapedSlash) return { segments: primary, others: toPathVariants(paths, hasDots) };
    // What was part of a segment may be dots now.
    const others = toPathVariants([...paths, unescapeSlashes(paths[0])], true);
    return { segments: primary, others };
  }
  // Behind the last slash some routers see one more segment, empty, and fill a parameter with it.
  return { segments, others: endsEmpty ? [[...segments, ""]] : NO_OTHERS };
}

/** Whether a path starts behind a host and its slash, so that all servers agree about the place. */
function isBehindHost(target: string, start: number): boolean {
  return (
    charCodeAt.call(target, start - 1) === SLASH && !isSlash(charCodeAt.call(target, start - 2))
  );
}

/** What may be the path, each without its first slash: servers differ about what is a host. */
function toPaths(target: string, start: number): readonly string[] {
  const path = target.slice(start);
  // `//host/path` is a path to most, and a URL without its scheme to `new URL(target, base)`.
  if (isSlash(charCodeAt.call(target, 0))) {
    return isSlash(charCodeAt.call(target, 1)) ? [path, behindHost(target, 2)] : [path];
  }
  const host = hostAt(target);
  // Fastify takes the first character for the slash, whatever it is: `*login`.
  if (host < 0) return [path, target.slice(1)];
  if (isBehindHost(target, start)) return [path];
  // Fastify looks for the first slash, be it in a query; the URL standard skips all before a host.
  return [path, behindHost(target, host), target.slice(target.indexOf("/", host) + 1)];
}

/** What stands behind the host that starts at a place or behind slashes there, and behind its slash. */
function behindHost(target: string, at: number): string {
  let host = at;
  while (isSlash(charCodeAt.call(target, host))) host++;
  return target.slice(skipHost(target, host));
}

function unescapeSlashes(path: string): string {
  return path.replace(/%2f/gi, "/").replace(/%5c/gi, "\\");
}

function isSlash(code: number): boolean {
  return code === SLASH || code === BACKSLASH;
}

/** Where the path starts in `http://host/path`, behind its slash; 0 if there is no scheme and host. */
function skipAuthority(target: string): number {
  const host = hostAt(target);
  return host < 0 ? 0 : skipHost(target, host);
}

/** Where the host starts in `http://host/path`; -1 if there is no scheme and host. */
function hostAt(target: string): number {
  const at = target.indexOf("://");
  return at <= 0 || target.slice(0, at).search(/[^a-z\d+.-]/i) >= 0 ? -1 : at + 3;
}

/** Where the path starts behind a host that starts at a place, and behind its slash. */
function skipHost(target: string, at: number): number {
  const length = target.slice(at).search(/[/\\?#]/);
  if (length < 0) return target.length;
  return isSlash(charCodeAt.call(target, at + length)) ? at + length + 1 : at + length;
}

/** A segment in its one form; empty if nothing but parameters stands in it. */
function toSegment(written: string, isUnescaped: boolean, isLower: boolean): string {
  if (isUnescaped) return isLower ? written : written.toLowerCase();
  // Parameters go first: `..;x` is a dot segment to servers that know them, `..%3Bx` is not.
  const end = written.indexOf(";");
  return foldCase(decodeOnce(end < 0 ? written : written.slice(0, end)));
}

function resolveDots(segments: readonly string[]): readonly string[] {
  const resolved: string[] = [];
  for (const segment of segments) {
    if (segment === "..") resolved.pop();
    else if (segment !== ".") resolved.push(segment);
  }
  return resolved.length === 0 ? NONE : resolved;
}
