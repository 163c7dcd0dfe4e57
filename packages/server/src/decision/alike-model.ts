// The request that others are compared with: its bytes, where in them texts stand that may differ, and what was
// read of it.

import { InputError } from "./input-error.js";
import * as json from "./json-bytes.js";
import type { Shape } from "./shape.js";

/** Longer requests are not compared with. */
const MODEL_BYTES_MAX = 4_096;
/** Texts of the request and of an object in it may differ, those further down not. */
const DEPTH_MAX = 2;

/** A text that may differ. */
export interface Hole {
  /** Its first byte, behind the quote, and its closing quote. */
  readonly start: number;
  readonly end: number;
  readonly name: string;
  /** The field of the request that `name` is in; undefined if it is a field of the request. */
  readonly outer: string | undefined;
  readonly shape: Shape<unknown>;
}

/** A request that was read. */
export interface Model<T> {
  readonly bytes: Buffer;
  readonly holes: readonly Hole[];
  readonly request: T;
}

/** The model that the request at a place of a body makes; undefined if it makes none. */
export function toModel<T>(body: Buffer, at: number, shape: Shape<T>): Model<T> | undefined {
  const scanned = scan(body.subarray(at, at + MODEL_BYTES_MAX));
  if (scanned === undefined) return undefined;
  const { end, texts } = scanned;
  const bytes = Buffer.from(body.subarray(at, at + end));
  try {
    const value: unknown = JSON.parse(bytes.toString("latin1"));
    const holes = texts.flatMap((text) => toHole(text, value, shape));
    return { bytes, holes, request: shape.read(value) };
  } catch (error) {
    if (error instanceof InputError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

interface FoundText {
  readonly start: number;
  readonly end: number;
  readonly path: readonly string[];
}

/**
 * Finds the end of an object and the texts in it, of bytes that are JSON. Undefined if it has no end, says a
 * field twice or has a text that is not plain.
 */
function scan(bytes: Buffer): { end: number; texts: FoundText[] } | undefined {
  const texts: FoundText[] = [];
  const names = new Set<string>();
  const path: string[] = [];
  let lists = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === json.OPENING_BRACKET) lists++;
    else if (byte === json.CLOSING_BRACKET) lists--;
    else if (byte === json.QUOTE) {
      const start = i + 1;
      const end = json.endOfPlainText(bytes, start);
      if (end < 0) return undefined;
      i = end;
      if (lists > 0) continue;
      if (bytes[json.skipSpace(bytes, end + 1)] !== json.COLON) {
        texts.push({ start, end, path: [...path] });
      } else {
        path[path.length - 1] = bytes.toString("latin1", start, end);
        const name = path.join("\n");
        if (names.has(name)) return undefined;
        names.add(name);
      }
    } else if (lists > 0) continue;
    else if (byte === json.OPENING_BRACE) path.push("");
    else if (byte === json.CLOSING_BRACE) {
      path.pop();
      if (path.length === 0) return { end: i + 1, texts };
    }
  }
  return undefined;
}

/** The text as a hole, if its field is read by itself: what stands in a record or in a limit is not. */
function toHole({ start, end, path }: FoundText, value: unknown, shape: Shape<unknown>): Hole[] {
  if (path.length > DEPTH_MAX) return [];
  let found: Shape<unknown> | undefined = shape;
  for (const name of path) found = found?.fieldOf?.(name, value);
  if (found === undefined) return [];
  const [outer, name] = path.length === 1 ? [undefined, path[0]] : path;
  return [{ start, end, name, outer, shape: found }];
}
