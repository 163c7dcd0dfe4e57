// Requests that are written like one before but for some of their texts: `{"limit":"9/second","key":"a"}`, then
// the same with `"b"`. Programs write them so, one by one and in batches, and they are read by what differs: to
// parse JSON and look at every field is most of what a decision in a batch costs (bench service/batch). Whatever
// is written in another way is left to those who do that.

import type { Shape } from "sluice/shapes";
import { InputError, readInput } from "../input-error.js";
import { BATCH_MAX } from "../verb-inputs.js";
import { type Hole, MODEL_BYTES_MAX, type Model, toModel } from "./alike-model.js";
import * as json from "./json-bytes.js";

/** Longer bodies are read in the usual way. */
const BODY_BYTES_MAX = 131_072;
/** After so many in a row that are not like the model, the next one becomes it. */
const UNLIKE_MAX = 8;
/** A slice of more characters keeps the whole text in memory for as long as it is kept itself. */
const SLICE_LENGTH_MAX = 12;

const REQUESTS = json.viewOf(Buffer.from('"requests"'));

/** Reads requests of one shape. What it returns may share parts, and is not to be changed. */
export class AlikeRequests<T extends object> {
  readonly #shape: Shape<T>;
  readonly #scratch = new json.Scratch({
    lengthMax: BODY_BYTES_MAX,
    roomBehind: MODEL_BYTES_MAX + REQUESTS.byteLength,
  });
  #model: Model<T> | undefined;
  #unlike = 0;
  /** Where the request that was read last has ended. */
  #end = 0;

  constructor(shape: Shape<T>) {
    this.#shape = shape;
  }

  /** The request that a body is, or those of a batch; undefined if it has to be read in the usual way. */
  read(body: Buffer): T | readonly T[] | undefined {
    if (!this.#scratch.put(body)) return undefined;
    const request = this.#readAt(0, body);
    if (request !== undefined && this.#end === body.length) {
      this.#unlike = 0;
      return request;
    }
    const list = listAt(this.#scratch.view);
    if (list >= 0) return this.#readList(list, body);
    if (this.#unlike++ >= UNLIKE_MAX) this.#take(0, body);
    return undefined;
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

  /** Makes the request at a place the model. */
  #take(at: number, body: Buffer): boolean {
    const model = toModel(body, this.#scratch.view, at, this.#shape);
    if (model === undefined) return false;
    this.#model = model;
    this.#unlike = 0;
    return true;
  }

  /** The request at a place, if it is like the model. `text`: the body, if more will be read of it. */
  #readAt(from: number, body: Buffer, text?: string): T | undefined {
    const model = this.#model;
    if (model === undefined) return undefined;
    const { view } = this.#scratch;
    const { bytes, length, holes } = model;
    let { request } = model;
    let at = from;
    let seen = 0;
    for (let i = 0; i < holes.length; i++) {
      const { start, end } = holes[i];
      if (!json.isSame(view, at, bytes, seen, start)) return undefined;
      const textAt = at + start - seen;
      seen = end;
      // With its closing quote: what only begins as the model does is another text.
      if (json.isSame(view, textAt, bytes, start, end + 1)) at = textAt + end - start;
      else {
        at = json.endOfPlainText(view, textAt);
        const changed =
          at < 0 ? undefined : withText(request, model, holes[i], cut(body, textAt, at, text));
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
    return readInput(shape, text);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** Where the list of a batch begins; -1 if the body is none that says its requests first. */
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

/** Where a batch ends whose list ends at a place; -1 if one of the two goes on. */
function endOfBatch(view: DataView, at: number): number {
  if (view.getUint8(at) !== json.CLOSING_BRACKET) return -1;
  const brace = json.skipSpace(view, at + 1);
  return view.getUint8(brace) === json.CLOSING_BRACE ? json.skipSpace(view, brace + 1) : -1;
}
