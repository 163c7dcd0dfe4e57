// The template that requests are compared with: its bytes, the places of the strings that may differ, and the request
// that was read from it.

import type { Fields, Shape } from "sluice/shapes";
import { InputError, readToFirstProblem } from "../input-error.js";
import * as json from "./json-bytes.js";

/** Longer requests do not become templates. */
export const TEMPLATE_BYTES_MAX = 4_096;
/** Strings of the request itself and of an object in it may differ; deeper ones may not. */
const DEPTH_MAX = 2;

/** A string that may differ. */
export interface Placeholder {
  /** The first byte after the opening quote, and the closing quote. */
  readonly start: number;
  readonly end: number;
  readonly name: string;
  /** The field of the request that `name` is in; undefined if it is a field of the request. */
  readonly outer: string | undefined;
  readonly shape: Shape<unknown>;
}

/** A request, and where its strings are. */
export interface RequestTemplate<T> {
  readonly bytes: DataView;
  readonly length: number;
  readonly placeholders: readonly Placeholder[];
  /** The one that is the key of the request; undefined for a request without a key. */
  readonly key: Placeholder | undefined;
  readonly request: T;
}

/**
 * Makes a template of the request at an offset of a body; undefined if it can't be one.
 *
 * @param view - The same body, with a zero byte at its end.
 */
export function toTemplate<T>(
  body: Buffer,
  view: DataView,
  at: number,
  shape: Shape<T>,
): RequestTemplate<T> | undefined {
  const scan = new Scan(body, view, at);
  const end = scan.run();
  if (end < 0) return undefined;
  const bytes = Buffer.from(body.subarray(at, end));
  try {
    const value: unknown = JSON.parse(bytes.toString("latin1"));
    const placeholders = scan.texts.flatMap((text) => toPlaceholder(text, value, shape));
    const key = placeholders.find(({ name, outer }) => name === "key" && outer === undefined);
    const request = readToFirstProblem(shape, value);
    return { bytes: json.viewOf(bytes), length: bytes.length, placeholders, key, request };
  } catch (error) {
    if (error instanceof InputError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Where a string is in its request, and the names that lead to it. */
interface FoundText {
  readonly start: number;
  readonly end: number;
  readonly path: readonly string[];
}

/** Finds the end of an object and the strings in it. Whether it is JSON is checked elsewhere. */
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

  /** Where the object ends; -1 if it is too long, has a field twice or a string that is not plain ASCII. */
  run(): number {
    const stop = Math.min(this.#start + TEMPLATE_BYTES_MAX, this.#body.length);
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

  /** Objects in lists are skipped: nothing in a list may differ. */
  #step(byte: number): void {
    if (byte === json.OPENING_BRACKET) this.#lists++;
    else if (byte === json.CLOSING_BRACKET) this.#lists--;
    else if (this.#lists > 0) return;
    else if (byte === json.OPENING_BRACE) this.#path.push("");
    else if (byte === json.CLOSING_BRACE) this.#path.pop();
  }

  /** Notes a string as a name or a value; false if it is a name that occurred before. */
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

/** The string as a placeholder, if its field is checked on its own: strings in a record or a limit are not. */
function toPlaceholder(
  { start, end, path }: FoundText,
  value: unknown,
  shape: Shape<unknown>,
): Placeholder[] {
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

/** The form that a value has, if the shape has several; applied again to that form's own forms. */
function formOf(shape: Shape<unknown>, value: unknown): Shape<unknown> | undefined {
  const form = shape.formOf?.(value);
  return form === undefined ? shape : formOf(form, value);
}
