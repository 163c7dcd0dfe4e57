// What servers take a path for that they differ about: one with backslashes, `;parameters`, a fragment,
// dot segments, empty segments, or a host before it. Which of them stands behind a limiter is not known,
// so a rule is about a path if it is about any of these readings. Beside a router that reads a path in
// yet another way a rule could be escaped; a reading too many only counts a strange request twice.

import { foldCase } from "../identity-keys/normalize-string.js";
import { decodeOnce } from "./percent-decode.js";

/** The most segments of a pattern, and so the deepest that matching looks into any path. */
export const PATTERN_SEGMENTS_MAX = 32;

/** The most readings: up to three paths, as five texts, with dots or without, each split in three ways. */
export const READINGS_MAX = 3 * 5 * 2 * 3;

type Segments = readonly string[];

/**
 * The readings of a path, each once; of each as many segments as a pattern can ask for, and one more.
 *
 * @param paths - What may be the path, with or without a query and a fragment, without its first slash.
 * @param hasDots - Whether a segment is `.` or `..`, in any spelling.
 */
export function toReadings(paths: readonly string[], hasDots: boolean): readonly Segments[] {
  const texts = new Set(paths.flatMap(toTexts));
  if (hasDots) for (const text of [...texts]) texts.add(resolveAsUrl(text));
  const readings = new Readings();
  for (const text of texts) {
    readings.add(text, true);
    // Routers that ignore a last slash ignore one, and may fill a parameter before it with nothing.
    if (text.endsWith("/")) readings.add(text.slice(0, -1), true);
    readings.add(text, false);
  }
  return readings.list;
}

/** A path as the text that servers split at its slashes. */
function toTexts(path: string): readonly string[] {
  const whole = cutAt(path, "?");
  const plain = cutAt(whole, "#");
  const slashed = plain.replaceAll("\\", "/");
  return [
    // As the URL standard has it, and with it Hono and whoever calls `new URL`.
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

/** Readings, none of them twice. */
class Readings {
  readonly list: Segments[] = [];
  /** Segments by how they are written: the readings of a path have most of them in common. */
  readonly #known = new Map<string, string>();

  /** Adds what a text is when it is split at its slashes, with its empty segments or without. */
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
