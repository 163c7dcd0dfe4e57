// The head of a `node:http` response, as it is about to be written. Our fields join it only then: a
// handler's own fields of these names give way, whoever wraps `writeHead` meets nothing of ours, and a
// response is spared five calls of setHeader, which would cost more than everything else that a memory
// rule does (bench http/node).

import { ServerResponse } from "node:http";

/** Fields as `writeHead` takes them: by name, names and values in turn, or pairs. */
type Given = Readonly<Record<string, unknown>> | readonly unknown[] | undefined;

type StoreHeader = (this: Carrier, firstLine: string, given: Given) => void;
type WriteHead = (status: number, reason?: string | Given, given?: Given) => ServerResponse;

/** What is known of a response's head. */
interface Head {
  /** Ours: names and values in turn. */
  fields: readonly string[];
  /** What was passed to `writeHead`, which `getHeader` does not show. */
  given: Given;
  /** The response's own, where it had to be wrapped. */
  readonly writeHead: WriteHead | undefined;
}

const HEAD = Symbol("sluice.head");

interface Carrier extends ServerResponse {
  [HEAD]?: Head;
  /** Node's own step from a status line and fields to the text of a head. */
  _storeHeader?: StoreHeader;
}

const storeHeader = (ServerResponse.prototype as Carrier)._storeHeader;

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
  const set = response.getHeader(name);
  if (set !== undefined) return String(set);
  const given = toPairs((response as Carrier)[HEAD]?.given);
  const said = given.find(([key]) => key.toLowerCase() === name)?.[1];
  return said === undefined ? undefined : String(said);
}

// One function for all responses, here and below: a closure for each costs three times as much, most
// of it in the garbage collector.
function headOf(response: ServerResponse): Head {
  const carrier: Carrier = response;
  const known = carrier[HEAD];
  if (known !== undefined) return known;
  const head: Head = { fields: NO_FIELDS, given: undefined, writeHead: wrapped(carrier) };
  carrier[HEAD] = head;
  return head;
}

/** Sees to it that our fields join the head. Its own `writeHead` if that had to be wrapped for it. */
function wrapped(response: Carrier): WriteHead | undefined {
  const { _storeHeader: store } = response;
  if (store === storeWithOurs) return undefined;
  if (store === storeHeader && store !== undefined && response.constructor === ServerResponse) {
    placeFor(response)._storeHeader = storeWithOurs;
    return undefined;
  }
  // HTTP/2, and responses that tests and serverless hosts make up: they look at what was set.
  const writeHead = response.writeHead as WriteHead;
  response.writeHead = writeWithOurs as ServerResponse["writeHead"];
  return writeHead;
}

/**
 * The response itself, or what Express puts between its responses and Node's: there every response has a
 * hidden class of its own, and a property more costs microseconds (bench http/express). Responses that
 * came through no door are passed on as they are.
 */
function placeFor(response: Carrier): Carrier {
  let place: Carrier = response;
  let above: Carrier | null = Object.getPrototypeOf(response);
  while (above !== null && above !== ServerResponse.prototype) {
    place = above;
    above = Object.getPrototypeOf(above);
  }
  return above === null ? response : place;
}

function storeWithOurs(this: Carrier, firstLine: string, given: Given): void {
  const head = this[HEAD];
  if (head === undefined) {
    (storeHeader as StoreHeader).call(this, firstLine, given);
    return;
  }
  const { fields } = head;
  let lines = firstLine;
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`;
  head.given = given;
  // What was set by setHeader is among what Node passes.
  if (given !== undefined && hasOurs(given, fields)) {
    for (let i = 0; i < fields.length; i += 2) this.removeHeader(fields[i]);
    head.given = withoutOurs(given, head);
  }
  (storeHeader as StoreHeader).call(this, lines, head.given);
}

function writeWithOurs(this: Carrier, status: number, reason?: unknown, given?: Given): Carrier {
  const head = this[HEAD] as Head;
  const { fields } = head;
  const message = typeof reason === "string" ? reason : undefined;
  head.given = withoutOurs(message === undefined ? (given ?? (reason as Given)) : given, head);
  for (let i = 0; i < fields.length; i += 2) this.setHeader(fields[i], fields[i + 1]);
  const writeHead = head.writeHead as WriteHead;
  // Without a reason the fields come second: who wraps writeHead looks for them there.
  if (message === undefined) writeHead.call(this, status, head.given);
  else writeHead.call(this, status, message, head.given);
  return this;
}

const NO_FIELDS: readonly string[] = [];

/** What the handler passed, without what we say ourselves. */
function withoutOurs(given: Given, { fields }: Head): Given {
  if (given === undefined || !hasOurs(given, fields)) return given;
  const kept = toPairs(given).filter(([name]) => !isOurs(name, fields));
  return Array.isArray(given) ? kept.flat() : Object.fromEntries(kept);
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
