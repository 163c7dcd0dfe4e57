// Requests that are written like one before but for some of their texts: `{"limit":"9/second","key":"a"}`, then
// the same with `"b"`. Programs write them so, one by one and in batches, and they are read by what differs: to
// parse JSON and look at every field is most of what a decision in a batch costs (bench service/batch). Whatever
// is written in another way is left to those who do that.

import { type Hole, type Model, toModel } from "./alike-model.js";
import { InputError } from "./input-error.js";
import { BATCH_MAX } from "./inputs.js";
import * as json from "./json-bytes.js";
import type { Shape } from "./shape.js";

/** After so many in a row that are not like the model, the next one becomes it. */
const UNLIKE_MAX = 8;
/** A slice of more characters keeps the whole text in memory for as long as it is kept itself. */
const SLICE_LENGTH_MAX = 12;

const REQUESTS = Buffer.from('"requests"');

/** Reads requests of one shape. What it returns may share parts, and is not to be changed. */
export class AlikeRequests<T extends object> {
  readonly #shape: Shape<T>;
  #model: Model<T> | undefined;
  #unlike = 0;
  /** Where the request that was read last has ended. */
  #end = 0;

  constructor(shape: Shape<T>) {
    this.#shape = shape;
  }

  /** The request that a body is; undefined if it has to be read in the usual way. */
  readOne(body: Buffer): T | undefined {
    const request = this.#read(body, 0);
    if (request !== undefined && this.#end === body.length) {
      this.#unlike = 0;
      return request;
    }
    if (this.#unlike++ >= UNLIKE_MAX && listAt(body) < 0) this.#take(body, 0);
    return undefined;
  }

  /** The requests of a batch; undefined if any of them, or the batch, has to be read in the usual way. */
  readBatch(body: Buffer): readonly T[] | undefined {
    let at = listAt(body);
    if (at < 0) return undefined;
    const text = body.toString("latin1");
    const requests: T[] = [];
    do {
      at = json.skipSpace(body, at + 1);
      let request = this.#read(body, at, text);
      if (request === undefined && requests.length === 0 && this.#take(body, at)) {
        request = this.#read(body, at, text);
      }
      if (request === undefined || requests.length === BATCH_MAX) return undefined;
      requests.push(request);
      at = json.skipSpace(body, this.#end);
    } while (body[at] === json.COMMA);
    return isEnd(body, at) ? requests : undefined;
  }

  /** Makes the request at a place the model. */
  #take(body: Buffer, at: number): boolean {
    const model = toModel(body, at, this.#shape);
    if (model === undefined) return false;
    this.#model = model;
    this.#unlike = 0;
    return true;
  }

  /** The request at a place, if it is like the model. `text`: the body, if more will be read of it. */
  #read(body: Buffer, from: number, text?: string): T | undefined {
    const model = this.#model;
    if (model === undefined) return undefined;
    const { bytes, holes } = model;
    let { request } = model;
    let at = from;
    let seen = 0;
    for (let i = 0; i < holes.length; i++) {
      const hole = holes[i];
      while (seen < hole.start) if (body[at++] !== bytes[seen++]) return undefined;
      const start = at;
      while (seen < hole.end && body[at] === bytes[seen]) {
        at++;
        seen++;
      }
      if (seen === hole.end && body[at] === json.QUOTE) continue;
      seen = hole.end;
      at = json.endOfPlainText(body, at);
      if (at < 0) return undefined;
      const changed = withText(request, model, hole, textAt(body, start, at, text));
      if (changed === undefined) return undefined;
      request = changed;
    }
    while (seen < bytes.length) if (body[at++] !== bytes[seen++]) return undefined;
    this.#end = at;
    return request;
  }
}

function textAt(body: Buffer, start: number, end: number, text: string | undefined): string {
  if (text === undefined || end - start > SLICE_LENGTH_MAX)
    return body.toString("latin1", start, end);
  return text.slice(start, end);
}

type Fields = Record<string, unknown>;

/** A copy of the model's request, or that copy again, with another text; undefined if the text is not valid. */
function withText<T extends object>(
  request: T,
  model: Model<T>,
  { name, outer, shape }: Hole,
  text: string,
): T | undefined {
  const value = readText(shape, text);
  if (value === undefined) return undefined;
  const copy = request === model.request ? { ...request } : request;
  const fields = copy as Fields;
  if (outer === undefined) fields[name] = value;
  else {
    if (fields[outer] === (model.request as Fields)[outer]) {
      fields[outer] = { ...(fields[outer] as Fields) };
    }
    (fields[outer] as Fields)[name] = value;
  }
  return copy;
}

/** Undefined if it can't be used, which is told by who reads it in the usual way. */
function readText(shape: Shape<unknown>, text: string): unknown {
  try {
    return shape.read(text);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** Where the list of a batch begins; -1 if the body is none that says its requests first. */
function listAt(body: Buffer): number {
  let at = json.skipSpace(body, 0);
  if (body[at] !== json.OPENING_BRACE) return -1;
  at = json.skipSpace(body, at + 1);
  for (let i = 0; i < REQUESTS.length; i++) if (body[at++] !== REQUESTS[i]) return -1;
  at = json.skipSpace(body, at);
  if (body[at] !== json.COLON) return -1;
  at = json.skipSpace(body, at + 1);
  return body[at] === json.OPENING_BRACKET ? at : -1;
}

/** Whether the list ends here, and the batch and the body with it. */
function isEnd(body: Buffer, at: number): boolean {
  if (body[at] !== json.CLOSING_BRACKET) return false;
  const end = json.skipSpace(body, at + 1);
  return body[end] === json.CLOSING_BRACE && json.skipSpace(body, end + 1) === body.length;
}
