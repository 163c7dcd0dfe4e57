// Reads requests that equal an earlier one except for some strings: `{"limit":"9/second","key":"a"}`, then the same
// with `"b"`. Programs write requests this way, one by one and in batches. The earlier request is the template, and
// only what differs is read: parsing JSON and checking every field would be most of the cost of a decision in a batch
// (bench service/batch). Requests written in any other way are parsed by the caller.

import type { Shape } from "sluice/shapes";
import { InputError, readToFirstProblem } from "../input-error.js";
import { BATCH_MAX } from "../verbs/verb-inputs.js";
import * as json from "./json-bytes.js";
import {
  type Placeholder,
  type RequestTemplate,
  TEMPLATE_BYTES_MAX,
  toTemplate,
} from "./request-template.js";

/** Longer bodies are parsed. */
const BODY_BYTES_MAX = 131_072;
/** After this many requests in a row that do not match the template, the next one becomes the template. */
const MISMATCHES_MAX = 8;
/** A longer slice would keep the whole body in memory for as long as the slice itself is kept. */
const SLICE_LENGTH_MAX = 12;

const REQUESTS = json.viewOf(Buffer.from('"requests"'));

/** Requests of a batch that equal one another except for their key. */
export class RequestsByKey<T> {
  /** What they have in common; its own key is that of another request. */
  readonly request: T;
  readonly keys: readonly string[];

  constructor(request: T, keys: readonly string[]) {
    this.request = request;
    this.keys = keys;
  }
}

/** Reads requests of one shape. The returned requests may share parts and must not be changed. */
export class TemplateReader<T extends object> {
  readonly #shape: Shape<T>;
  readonly #scratch = new json.Scratch({
    lengthMax: BODY_BYTES_MAX,
    roomBehind: TEMPLATE_BYTES_MAX + REQUESTS.byteLength,
  });
  #template: RequestTemplate<T> | undefined;
  #mismatches = 0;
  /** Where the last request that was read ends. */
  #end = 0;

  constructor(shape: Shape<T>) {
    this.#shape = shape;
  }

  /** The request in a body, or the requests of a batch; undefined if the body has to be parsed. */
  read(body: Buffer): T | readonly T[] | RequestsByKey<T> | undefined {
    if (!this.#scratch.put(body)) return undefined;
    const request = this.#readAt(0, body);
    if (request !== undefined && this.#end === body.length) {
      this.#mismatches = 0;
      return request;
    }
    const list = listAt(this.#scratch.view);
    if (list >= 0) return this.#readKeys(list, body) ?? this.#readList(list, body);
    if (this.#mismatches++ >= MISMATCHES_MAX) this.#take(0, body);
    return undefined;
  }

  /** A batch that equals the template except for the keys, for which no request has to be made. */
  #readKeys(list: number, body: Buffer): RequestsByKey<T> | undefined {
    const { view } = this.#scratch;
    const template = this.#template;
    const key = template?.key;
    if (template === undefined || key === undefined) return undefined;
    const { bytes, length } = template;
    const text = body.toString("latin1");
    const keys: string[] = [];
    let at = list;
    do {
      at = json.skipSpace(view, at + 1);
      if (!json.isSame(view, at, bytes, 0, key.start)) return undefined;
      const from = at + key.start;
      const to = json.endOfPlainText(view, from);
      if (to < 0 || !json.isSame(view, to, bytes, key.end, length)) return undefined;
      const value = readText(key.shape, cut(body, from, to, text));
      if (value === undefined || keys.length === BATCH_MAX) return undefined;
      keys.push(value as string);
      at = json.skipSpace(view, to + length - key.end);
    } while (view.getUint8(at) === json.COMMA);
    if (endOfBatch(view, at) !== body.length) return undefined;
    return new RequestsByKey(template.request, keys);
  }

  #readList(list: number, body: Buffer): readonly T[] | undefined {
    const { view } = this.#scratch;
    const text = body.toString("latin1");
    const requests: T[] = [];
    let at = list;
    do {
      at = json.skipSpace(view, at + 1);
      let request = this.#readAt(at, body, text);
      if (request === undefined && requests.length === 0 && this.#take(at, body)) {
        request = this.#readAt(at, body, text);
      }
      if (request === undefined || requests.length === BATCH_MAX) return undefined;
      requests.push(request);
      at = json.skipSpace(view, this.#end);
    } while (view.getUint8(at) === json.COMMA);
    return endOfBatch(view, at) === body.length ? requests : undefined;
  }

  /** Makes the request at an offset the template. */
  #take(at: number, body: Buffer): boolean {
    const template = toTemplate(body, this.#scratch.view, at, this.#shape);
    if (template === undefined) return false;
    this.#template = template;
    this.#mismatches = 0;
    return true;
  }

  /** The request at an offset, if it matches the template. `text`: the body as a string, if more of it will be read. */
  #readAt(from: number, body: Buffer, text?: string): T | undefined {
    const template = this.#template;
    if (template === undefined) return undefined;
    const { view } = this.#scratch;
    const { bytes, length, placeholders } = template;
    let { request } = template;
    let at = from;
    let seen = 0;
    for (let i = 0; i < placeholders.length; i++) {
      const { start, end } = placeholders[i];
      if (!json.isSame(view, at, bytes, seen, start)) return undefined;
      const textAt = at + start - seen;
      seen = end;
      // With its closing quote: a string that only begins like the template's is another string.
      if (json.isSame(view, textAt, bytes, start, end + 1)) at = textAt + end - start;
      else {
        at = json.endOfPlainText(view, textAt);
        const changed =
          at < 0
            ? undefined
            : withText(request, template, placeholders[i], cut(body, textAt, at, text));
        if (changed === undefined) return undefined;
        request = changed;
      }
    }
    if (!json.isSame(view, at, bytes, seen, length)) return undefined;
    this.#end = at + length - seen;
    return request;
  }
}

function cut(body: Buffer, start: number, end: number, text: string | undefined): string {
  if (text === undefined || end - start > SLICE_LENGTH_MAX)
    return body.toString("latin1", start, end);
  return text.slice(start, end);
}

type Fields = Record<string, unknown>;

/** The template's request, copied once, with another string; undefined if the string is not valid. */
function withText<T extends object>(
  request: T,
  template: RequestTemplate<T>,
  { name, outer, shape }: Placeholder,
  text: string,
): T | undefined {
  const value = readText(shape, text);
  if (value === undefined) return undefined;
  const copy = request === template.request ? { ...request } : request;
  const fields = copy as Fields;
  if (outer === undefined) fields[name] = value;
  else {
    if (fields[outer] === (template.request as Fields)[outer]) {
      fields[outer] = { ...(fields[outer] as Fields) };
    }
    (fields[outer] as Fields)[name] = value;
  }
  return copy;
}

/** Undefined if the string is not valid; the error is reported when the request is parsed. */
function readText(shape: Shape<unknown>, text: string): unknown {
  try {
    return readToFirstProblem(shape, text);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** Where the list of a batch begins; -1 if the body does not begin with `requests`. */
function listAt(view: DataView): number {
  const brace = json.skipSpace(view, 0);
  if (view.getUint8(brace) !== json.OPENING_BRACE) return -1;
  const name = json.skipSpace(view, brace + 1);
  if (!json.isSame(view, name, REQUESTS, 0, REQUESTS.byteLength)) return -1;
  const colon = json.skipSpace(view, name + REQUESTS.byteLength);
  if (view.getUint8(colon) !== json.COLON) return -1;
  const list = json.skipSpace(view, colon + 1);
  return view.getUint8(list) === json.OPENING_BRACKET ? list : -1;
}

/** Where a batch ends whose list ends at a place; -1 if one of the two continues. */
function endOfBatch(view: DataView, at: number): number {
  if (view.getUint8(at) !== json.CLOSING_BRACKET) return -1;
  const brace = json.skipSpace(view, at + 1);
  return view.getUint8(brace) === json.CLOSING_BRACE ? json.skipSpace(view, brace + 1) : -1;
}
