// The head of a `node:http` response, as it is about to be written. Our fields join it only then: a
// handler's own fields of these names give way, and a response is spared five calls of setHeader, which
// would cost more than everything else that a memory rule does (bench http/node).

import { type IncomingMessage, ServerResponse } from "node:http";

/** Fields as `writeHead` takes them: by name, names and values in turn, or pairs. */
type Given = Readonly<Record<string, unknown>> | readonly unknown[] | undefined;

type WriteHead = (status: number, message?: string, given?: Given) => ServerResponse;

/** What is known of a response's head. */
interface Head {
  /** Ours: names and values in turn. */
  fields: readonly string[];
  /** What was passed to `writeHead`, which `getHeader` does not show. */
  given: Given;
  /** The response's own. */
  readonly writeHead: WriteHead;
}

const HEAD = Symbol("sluice.head");

interface Carrier extends ServerResponse {
  [HEAD]?: Head;
  _header?: unknown;
}

/**
 * Puts fields on the response, whenever and however its head is written. Those of a later door replace
 * those of an earlier one, and ours what the handler says under the same name. `getHeader` does not
 * show them.
 */
export function joinHead(response: ServerResponse, fields: readonly string[]): void {
  if (fields.length > 0) headOf(response).fields = fields;
}

/** Lets {@link readField} see also what is passed to `writeHead` from now on. */
export function watchHead(response: ServerResponse): void {
  headOf(response);
}

/** A field of the response as it was written, by lower-case name. */
export function readField(response: ServerResponse, name: string): string | undefined {
  const given = toPairs((response as Carrier)[HEAD]?.given);
  const said = given.find(([key]) => key.toLowerCase() === name)?.[1] ?? response.getHeader(name);
  return said === undefined ? undefined : String(said);
}

function headOf(response: ServerResponse): Head {
  const carrier: Carrier = response;
  const known = carrier[HEAD];
  if (known !== undefined) return known;
  const writeHead = response.writeHead as WriteHead;
  const head: Head = { fields: NO_FIELDS, given: undefined, writeHead };
  carrier[HEAD] = head;
  // One function for all responses: a closure for each costs three times as much, most of it in the
  // garbage collector.
  response.writeHead = writeWithOurs as ServerResponse["writeHead"];
  return head;
}

function writeWithOurs(this: Carrier, status: number, reason?: unknown, given?: Given): Carrier {
  const head = this[HEAD] as Head;
  const message = typeof reason === "string" ? reason : undefined;
  head.given = withoutOurs(message === undefined ? (given ?? (reason as Given)) : given, head);
  const lines = canAppend(this) ? toLines(this, head) : setLines(this, head);
  head.writeHead.call(this, status, message, head.given);
  if (lines !== "") this._header = `${(this._header as string).slice(0, -2)}${lines}\r\n`;
  return this;
}

const NO_FIELDS: readonly string[] = [];

/** Our fields as lines of a head, in place of what the handler set. */
function toLines(response: ServerResponse, { fields }: Head): string {
  let lines = "";
  for (let i = 0; i < fields.length; i += 2) {
    if (response.hasHeader(fields[i])) response.removeHeader(fields[i]);
    lines += `${fields[i]}: ${fields[i + 1]}\r\n`;
  }
  return lines;
}

/** Sets our fields where lines can't be appended: no line is left to be. */
function setLines(response: ServerResponse, { fields }: Head): "" {
  for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i], fields[i + 1]);
  return "";
}

/**
 * Whether the head of such a response is a text of lines that ends in an empty one, ready to be sent.
 * Others (HTTP/2, responses that tests and serverless hosts make up) take our fields by setHeader.
 */
function canAppend(response: ServerResponse): boolean {
  return response.constructor === ServerResponse && isHeadText();
}

let isText: boolean | undefined;

function isHeadText(): boolean {
  if (isText === undefined) {
    const request = { method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 };
    const { _header: head } = new ServerResponse(request as IncomingMessage).writeHead(
      200,
    ) as Carrier;
    isText = typeof head === "string" && head.endsWith("\r\n\r\n");
  }
  return isText;
}

/** What the handler passed, without what we say ourselves. */
function withoutOurs(given: Given, { fields }: Head): Given {
  if (given === undefined || !hasOurs(given, fields)) return given;
  return toPairs(given)
    .filter(([name]) => !isOurs(name, fields))
    .flat();
}

function hasOurs(given: NonNullable<Given>, fields: readonly string[]): boolean {
  if (Array.isArray(given)) return toPairs(given).some(([name]) => isOurs(name, fields));
  for (const name in given) if (isOurs(name, fields)) return true;
  return false;
}

function isOurs(name: string, fields: readonly string[]): boolean {
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i].length === name.length && fields[i].toLowerCase() === name.toLowerCase()) {
      return true;
    }
  }
  return false;
}

function toPairs(given: Given): (readonly [string, unknown])[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) return Object.entries(given);
  if (Array.isArray(given[0])) return given as (readonly [string, unknown])[];
  const pairs: (readonly [string, unknown])[] = [];
  for (let i = 0; i < given.length; i += 2) pairs.push([String(given[i]), given[i + 1]]);
  return pairs;
}
