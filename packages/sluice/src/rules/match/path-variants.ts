// Servers disagree about paths with backslashes, escaped slashes, `;parameters`, a fragment, dot segments, empty segments
// or a host in front. Sluice can't know which server handles the request, so a rule matches a path if it matches any
// of its variants. A missing variant would let a request bypass a rule; a variant too many only counts an
// unusual request under one more rule.

import { foldCase } from "../normalize/normalize-string.js";
import { decodeOnce } from "../normalize/percent-decode.js";

/** The most segments of a pattern, and so the deepest that matching looks into any path. */
export const PATTERN_SEGMENTS_MAX = 32;

/**
 * The most variants: up to three paths and one with its slashes unescaped, as five strings, with dots or without, each
 * split in three ways.
 */
export const PATH_VARIANTS_MAX = 4 * 5 * 2 * 3;

type Segments = readonly string[];

/**
 * The variants of a path, each once, cut after one segment more than a pattern can have.
 *
 * @param paths - What may be the path, with or without a query and a fragment, without its first slash.
 * @param hasDots - Whether a segment is `.` or `..`, in any spelling.
 */
export function toPathVariants(paths: readonly string[], hasDots: boolean): readonly Segments[] {
  const texts = new Set(paths.flatMap(toTexts));
  if (hasDots) for (const text of [...texts]) texts.add(resolveAsUrl(text));
  const variants = new PathVariants();
  for (const text of texts) {
    variants.add(text, true);
    // Routers that ignore a last slash ignore one, and may fill a parameter before it with nothing.
    if (text.endsWith("/")) variants.add(text.slice(0, -1), true);
    variants.add(text, false);
  }
  return variants.list;
}

/** A path as the text that servers split at its slashes. */
function toTexts(path: string): readonly string[] {
  const whole = cutAt(path, "?");
  const plain = cutAt(whole, "#");
  const slashed = plain.replaceAll("\\", "/");
  return [
    // As the URL standard has it, and with it Hono and any code that calls `new URL`.
    slashed,
    // Java's servers and their like know parameters.
    slashed.replace(/;[^/]*/g, ""),
    // To Express, Fastify and Koa a backslash is a character like any other.
    plain,
    // Fastify may take a semicolon for the start of the query.
    cutAt(plain, ";"),
    // Handwritten servers look for the query only.
    whole,
  ];
}

function cutAt(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? text : text.slice(0, at);
}

/** Without dot segments. In the URL standard an empty segment is one that `..` removes. */
function resolveAsUrl(text: string): string {
  const kept: string[] = [];
  let endsOpen = false;
  for (const written of text.split("/")) {
    const plain = written.length > 6 ? written : written.replace(/%2e/gi, ".");
    endsOpen = plain === "." || plain === "..";
    if (plain === "..") kept.pop();
    else if (plain !== ".") kept.push(written);
  }
  if (endsOpen) kept.push("");
  return kept.join("/");
}

/** A list of variants without duplicates. */
class PathVariants {
  readonly list: Segments[] = [];
  /** Segments by how they are written: the variants of a path share most of them. */
  readonly #known = new Map<string, string>();

  /** Adds what a string is when it is split at its slashes, with its empty segments or without. */
  add(text: string, keepsEmpty: boolean): void {
    const segments: string[] = [];
    let from = 0;
    while (from <= text.length && segments.length <= PATTERN_SEGMENTS_MAX) {
      const slash = text.indexOf("/", from);
      const end = slash < 0 ? text.length : slash;
      if (keepsEmpty || end > from) segments.push(this.#toSegment(text.slice(from, end)));
      from = end + 1;
    }
    if (!this.list.some((known) => areEqual(known, segments))) this.list.push(segments);
  }

  #toSegment(written: string): string {
    const known = this.#known.get(written);
    if (known !== undefined) return known;
    const segment = foldCase(decodeOnce(written));
    this.#known.set(written, segment);
    return segment;
  }
}

function areEqual(a: Segments, b: Segments): boolean {
  return a.length === b.length && a.every((segment, i) => segment === b[i]);
}
