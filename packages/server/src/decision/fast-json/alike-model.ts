// The request that others are compared with: its bytes, where in them texts stand that may differ, and what was
// read of it.

import type { Fields, Shape } from "sluice/shapes";
import { InputError, readInput } from "../input-error.js";
import * as json from "./json-bytes.js";

/** Longer requests are not compared with. */
export const MODEL_BYTES_MAX = 4_096;
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
  readonly bytes: DataView;
  readonly length: number;
  readonly holes: readonly Hole[];
  readonly request: T;
}

/**
 * The model that the request at a place of a body makes; undefined if it makes none.
 *
 * @param view - The same body, with an end that can be seen.
 */
export function toModel<T>(
  body: Buffer,
  view: DataView,
  at: number,
  shape: Shape<T>,
): Model<T> | undefined {
  const scan = new Scan(body, view, at);
  const end = scan.run();
  if (end < 0) return undefined;
  const bytes = Buffer.from(body.subarray(at, end));
  try {
    const value: unknown = JSON.parse(bytes.toString("latin1"));
    const holes = scan.texts.flatMap((text) => toHole(text, value, shape));
    const request = readInput(shape, value);
    return { bytes: json.viewOf(bytes), length: bytes.length, holes, request };
  } catch (error) {
    if (error instanceof InputError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Where a text stands in its request, and the names that lead to it. */
interface FoundText {
  readonly start: number;
  readonly end: number;
  readonly path: readonly string[];
}

/** Finds the end of an object and the texts in it. Whether it is JSON is told by others. */
class Scan {
  readonly texts: FoundText[] = [];
  readonly #body: Buffer;
  readonly #view: DataView;
  readonly #start: number;
  readonly #names = new Set<string>();
  readonly #path: string[] = [];
  #lists = 0;

  constructor(body: Buffer, view: DataView, start: number) {
    this.#body = body;
    this.#view = view;
    this.#start = start;
  }

  /** The end; -1 if there is none near, or a field is said twice or a text is not plain. */
  run(): number {
    const stop = Math.min(this.#start + MODEL_BYTES_MAX, this.#body.length);
    for (let at = this.#start; at < stop; at++) {
      const byte = this.#view.getUint8(at);
      if (byte === json.QUOTE) {
        const start = at + 1;
        at = json.endOfPlainText(this.#view, start);
        if (at < 0 || !this.#see(start, at)) return -1;
      } else this.#step(byte);
      if (byte === json.CLOSING_BRACE && this.#path.length === 0) return at + 1;
    }
    return -1;
  }

  /** Objects in lists are of no interest: nothing in a list may differ. */
  #step(byte: number): void {
    if (byte === json.OPENING_BRACKET) this.#lists++;
    else if (byte === json.CLOSING_BRACKET) this.#lists--;
    else if (this.#lists > 0) return;
    else if (byte === json.OPENING_BRACE) this.#path.push("");
    else if (byte === json.CLOSING_BRACE) this.#path.pop();
  }

  /** Takes a text for a name or a value; false if it is a name that was there before. */
  #see(start: number, end: number): boolean {
    if (this.#lists > 0) return true;
    const path = this.#path;
    if (this.#view.getUint8(json.skipSpace(this.#view, end + 1)) !== json.COLON) {
      this.texts.push({ start: start - this.#start, end: end - this.#start, path: [...path] });
      return true;
    }
    path[path.length - 1] = this.#body.toString("latin1", start, end);
    const name = path.join("\n");
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    return true;
  }
}

/** The text as a hole, if its field is read by itself: what stands in a record or in a limit is not. */
function toHole({ start, end, path }: FoundText, value: unknown, shape: Shape<unknown>): Hole[] {
  if (path.length > DEPTH_MAX) return [];
  let found = formOf(shape, value);
  for (const name of path) {
    const fields: Fields = found?.fields ?? {};
    found = Object.hasOwn(fields, name) ? fields[name].shape : undefined;
  }
  if (found === undefined) return [];
  const [outer, name] = path.length === 1 ? [undefined, path[0]] : path;
  return [{ start, end, name, outer, shape: found }];
}

/** Of a shape with several forms the one that the value has, whose own forms are looked at too. */
function formOf(shape: Shape<unknown>, value: unknown): Shape<unknown> | undefined {
  const form = shape.formOf?.(value);
  return form === undefined ? shape : formOf(form, value);
}
