// Paths, normalised once, so that no other way of writing a path escapes the rule that is about it:
// case, percent-escapes, doubled and trailing slashes, dot segments, `;parameters`, Unicode form, and
// the scheme and host of a whole URL make no difference. The work is linear in the length of the path.
//
// An escaped slash stays part of its segment, as the routers of Express, Fastify and Hono have it.
// Servers exist that take it for a slash: in front of those a rule should name the whole prefix.

import { foldCase } from "./text.js";

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

const HASH = 0x23;
const PERCENT = 0x25;
const SLASH = 0x2f;
const SEMICOLON = 0x3b;
const QUESTION = 0x3f;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const BACKSLASH = 0x5c;
const ASCII_MAX = 0x7f;

const NONE: readonly string[] = [];
const NO_OTHERS: ReadPath["others"] = [];

/** A path as it is matched. */
export interface ReadPath {
  /** The segments, none for `/`. A segment holds a slash only where it was escaped. */
  readonly segments: readonly string[];
  /**
   * What servers differ about: a path with dot segments, or with a host where the path should begin.
   * A rule is about a path if it is about any reading of it.
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
  let hasDots = false;
  let from = start;
  let isPlain = true;
  let isLower = true;
  for (let i = start; i <= target.length; i++) {
    const code = i < target.length ? charCodeAt.call(target, i) : QUESTION;
    const isEnd = code === QUESTION || code === HASH;
    if (code === SLASH || isEnd || code === BACKSLASH) {
      if (i > from) {
        const segment = toSegment(target.slice(from, i), isPlain, isLower);
        if (segment !== "") segments.push(segment);
        hasDots ||= segment === "." || segment === "..";
      }
      if (isEnd) break;
      from = i + 1;
      isPlain = true;
      isLower = true;
    } else if (code === PERCENT || code === SEMICOLON || code > ASCII_MAX) {
      isPlain = false;
    } else if (code >= UPPER_A && code <= UPPER_Z) {
      isLower = false;
    }
  }
  const others = hasDots ? [segments, toUrlSegments(target.slice(start))] : [];
  if (startsWithHost(target)) others.push(toUrlSegments(target.slice(skipHost(target, 2))));
  if (others.length === 0) return { segments, others: NO_OTHERS };
  return { segments: hasDots ? resolveDots(segments) : segments, others };
}

/** `//host/path`: a path to most, and a URL without its scheme to `new URL(target, base)`. */
function startsWithHost(target: string): boolean {
  return isSlash(charCodeAt.call(target, 0)) && isSlash(charCodeAt.call(target, 1));
}

function isSlash(code: number): boolean {
  return code === SLASH || code === BACKSLASH;
}

/**
 * The segments as the URL standard resolves them. There an empty segment is one that `..` removes, and
 * `..;x` is none of dots.
 */
function toUrlSegments(path: string): readonly string[] {
  const end = path.search(/[?#]/);
  const kept: string[] = [];
  for (const written of (end < 0 ? path : path.slice(0, end)).split(/[/\\]/)) {
    const plain = written.replace(/%2e/gi, ".");
    if (plain === "..") kept.pop();
    else if (plain !== ".") kept.push(written);
  }
  return kept.map((written) => toSegment(written, false, false)).filter((text) => text !== "");
}

/** Where the path starts in `http://host/path`; 0 if there is no scheme and authority. */
function skipAuthority(target: string): number {
  const at = target.indexOf("://");
  if (at <= 0 || target.slice(0, at).search(/[^a-z\d+.-]/i) >= 0) return 0;
  return skipHost(target, at + 3);
}

/** Where the path starts behind a host that starts at a place. */
function skipHost(target: string, at: number): number {
  const length = target.slice(at).search(/[/\\?#]/);
  return length < 0 ? target.length : at + length;
}

/** A segment in its one form; empty if nothing but parameters stands in it. */
function toSegment(written: string, isPlain: boolean, isLower: boolean): string {
  if (isPlain) return isLower ? written : written.toLowerCase();
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

/**
 * Percent-escapes as the UTF-8 that they spell. What spells none stays as it is. Once only: `%252e` is
 * the text `%2e`. Without exceptions, which a target full of malformed escapes would make costly.
 */
export function decodeOnce(text: string): string {
  let decoded = "";
  let from = 0;
  let at = text.indexOf("%");
  while (at >= 0) {
    const length = sequenceLength(byteAt(text, at));
    const point = length === 0 ? -1 : codePointAt(text, at, length);
    if (point < 0) {
      at = text.indexOf("%", at + 1);
      continue;
    }
    decoded += text.slice(from, at) + String.fromCodePoint(point);
    from = at + 3 * length;
    at = text.indexOf("%", from);
  }
  return from === 0 ? text : decoded + text.slice(from);
}

/** How many bytes a sequence has by its first one; 0 if none starts so. */
function sequenceLength(byte: number): number {
  if (byte < 0) return 0;
  if (byte < 0x80) return 1;
  if (byte < 0xc0) return 0;
  if (byte < 0xe0) return 2;
  if (byte < 0xf0) return 3;
  return byte < 0xf5 ? 4 : 0;
}

/** By length: what a shorter sequence spells already is not spelt by a longer one. */
const LEAST = [0, 0, 0x80, 0x800, 0x10000];

/** The code point of a sequence of escapes; -1 if it is no UTF-8. */
function codePointAt(text: string, at: number, length: number): number {
  const first = byteAt(text, at);
  if (length === 1) return first;
  let point = first & (0x7f >> length);
  for (let i = 1; i < length; i++) {
    const byte = byteAt(text, at + 3 * i);
    if (byte < 0x80 || byte > 0xbf) return -1;
    point = (point << 6) | (byte & 0x3f);
  }
  const isSurrogate = point >= 0xd800 && point <= 0xdfff;
  return point < LEAST[length] || point > 0x10ffff || isSurrogate ? -1 : point;
}

/** The byte that the escape at a place spells; -1 if there is none. */
function byteAt(text: string, at: number): number {
  if (charCodeAt.call(text, at) !== PERCENT) return -1;
  const high = hexDigit(charCodeAt.call(text, at + 1));
  const low = hexDigit(charCodeAt.call(text, at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
