// The head of a `node:http` response, as it is about to be written. Our headers join it only then: a
// handler's own headers of these names give way, middleware that wraps `writeHead` sees nothing of ours, and a
// response is spared five calls of setHeader, which would cost more than everything else that a memory
// rule does (bench http/node).

import { ServerResponse } from "node:http";
import {
  eachField,
  type HeaderFields,
  joinLines,
  toFields,
} from "../../response/response-headers.js";
import { dataBehind, sharedBelow } from "./request-data.js";

/** Headers as `writeHead` takes them: by name, names and values in turn, or pairs. */
type Given = Readonly<Record<string, unknown>> | readonly unknown[] | undefined;

type StoreHeader = (this: Carrier, firstLine: string, given: Given) => void;
type WriteHead = (status: number, reason?: string | Given, given?: Given) => ServerResponse;

/** What is known about a response's head. */
interface Head {
  /** Whose head it is: a request may have been given another response. */
  readonly response: ServerResponse;
  /** Ours, each with its end. */
  lines: string;
  /** What was passed to `writeHead`, which `getHeader` does not show. */
  given: Given;
  /** The response's own, where it had to be wrapped. */
  readonly writeHead: WriteHead | undefined;
}

const HEAD = Symbol("sluice.head");
const LINES = Symbol("sluice.lines");

/** Keeps a head: the data of a request. */
interface Keeper {
  [HEAD]?: Head;
}

interface Carrier extends ServerResponse {
  /** Node's own step from a status line and headers to the head as a string. */
  _storeHeader?: StoreHeader;
  /** Our headers, where nothing else is known about the head: most responses need no more. */
  [LINES]?: string | undefined;
}

const storeHeader = (ServerResponse.prototype as Carrier)._storeHeader;

/**
 * Puts headers on the response, whenever and however its head is written. Lists of named limits are added to
 * those of earlier middleware; other headers replace them, and what the handler sets under the same name.
 * `getHeader` does not show them.
 */
export function joinHead(response: ServerResponse, lines: string): void {
  if (lines === "" || keepLines(response, lines)) return;
  const head = headOf(response);
  head.lines = head.lines === "" ? lines : joinLines(head.lines, lines);
}

/** The same, in place of what was there. */
export function replaceHead(response: ServerResponse, lines: string): void {
  headOf(response).lines = lines;
}

/** Lets {@link readField} see also what is passed to `writeHead` from now on. */
export function watchHead(response: ServerResponse): void {
  headOf(response);
}

/** A header of the response as it was written, by lower-case name. */
export function readField(response: ServerResponse, name: string): string | undefined {
  const set = response.getHeader(name);
  if (set !== undefined) return String(set);
  const given = toPairs(knownHead(response)?.given);
  const said = given.find(([key]) => key.toLowerCase() === name)?.[1];
  return said === undefined ? undefined : String(said);
}

// One function for all responses, here and below: a closure for each costs three times as much, most
// of it in the garbage collector.
function headOf(response: Carrier): Head {
  const keeper: Keeper = dataBehind(response);
  const known = keeper[HEAD];
  if (known !== undefined && known.response === response) return known;
  const lines = response[LINES];
  // What was put around `storeLines` since then stays: it hands over once the lines have moved.
  const writeHead = lines === undefined ? wrapped(response) : undefined;
  if (lines !== undefined) response[LINES] = undefined;
  const head: Head = { response, lines: lines ?? "", given: undefined, writeHead };
  keeper[HEAD] = head;
  return head;
}

function knownHead(response: Carrier): Head | undefined {
  const head = (dataBehind(response) as Keeper)[HEAD];
  return head !== undefined && head.response === response ? head : undefined;
}

/** Keeps the lines on the response itself. False, and nothing done, if anything but Node.js stores its head. */
function keepLines(response: Carrier, lines: string): boolean {
  const isPlain = Object.getPrototypeOf(response) === ServerResponse.prototype;
  if (!isPlain || storeHeader === undefined || response._storeHeader !== storeHeader) return false;
  response[LINES] = lines;
  response._storeHeader = storeLines;
  return true;
}

/** What the latest response of a framework inherits from: our step is above it already. */
let latestKind: unknown;

/** Sees to it that our headers join the head. Its own `writeHead` if that had to be wrapped for it. */
function wrapped(response: Carrier): WriteHead | undefined {
  const kind: unknown = Object.getPrototypeOf(response);
  if (kind === latestKind) return undefined;
  if (isNodes(response)) {
    if (kind === ServerResponse.prototype) response._storeHeader = storeWithOurs;
    else {
      wrapShared(response);
      latestKind = kind;
    }
    return undefined;
  }
  // HTTP/2, and responses that tests and serverless hosts make up: they look at what was set.
  const writeHead = response.writeHead as WriteHead;
  response.writeHead = writeWithOurs as ServerResponse["writeHead"];
  return writeHead;
}

/** Whether a head is written in the way of Node, or already with ours. */
function isNodes(response: Carrier): boolean {
  const { _storeHeader: store } = response;
  const isKnown = store === storeHeader || store === storeLines || store === storeWithOurs;
  return store !== undefined && isKnown && response.constructor === ServerResponse;
}

/**
 * Puts our step on what Express puts between its responses and Node's, once for all of them. Responses that
 * came through no request handler are not changed.
 */
function wrapShared(response: Carrier): void {
  const shared = sharedBelow(response, ServerResponse.prototype) as Carrier | undefined;
  (shared ?? response)._storeHeader = storeWithOurs;
}

// A function of its own, and the lines on the response itself: to look for a head costs 40 to 70 ns more, much of it
// in Node.js, where each property that is added to a request's state slows its stream down (bench http/node).
function storeLines(this: Carrier, firstLine: string, given: Given): void {
  const lines = this[LINES];
  if (lines === undefined || (given !== undefined && mayBeOurs(given))) {
    headOf(this);
    storeWithOurs.call(this, firstLine, given);
    return;
  }
  (storeHeader as StoreHeader).call(this, firstLine + lines, given);
}

function storeWithOurs(this: Carrier, firstLine: string, given: Given): void {
  const head = knownHead(this);
  if (head === undefined) {
    (storeHeader as StoreHeader).call(this, firstLine, given);
    return;
  }
  head.given = given;
  // What was set by setHeader is among what Node passes.
  if (given !== undefined && mayBeOurs(given)) {
    const fields = toFields(head.lines);
    eachField(fields, (name) => this.removeHeader(name));
    head.given = withoutOurs(given, fields);
  }
  (storeHeader as StoreHeader).call(this, firstLine + head.lines, head.given);
}

function writeWithOurs(this: Carrier, status: number, reason?: unknown, given?: Given): Carrier {
  const head = knownHead(this) as Head;
  const fields = toFields(head.lines);
  const message = typeof reason === "string" ? reason : undefined;
  head.given = withoutOurs(message === undefined ? (given ?? (reason as Given)) : given, fields);
  eachField(fields, (name, value) => this.setHeader(name, value));
  const writeHead = head.writeHead as WriteHead;
  // Without a reason the headers come second: middleware that wraps writeHead looks for them there.
  if (message === undefined) writeHead.call(this, status, head.given);
  else writeHead.call(this, status, message, head.given);
  return this;
}

/** The handler's headers, without those that we write ourselves. */
function withoutOurs(given: Given, fields: HeaderFields): Given {
  if (given === undefined || !mayBeOurs(given)) return given;
  const pairs = toPairs(given);
  const kept = pairs.filter(([name]) => !isOurs(name, fields));
  // Node's own table of what was set, from which ours were removed: only the table itself is read as one.
  if (kept.length === pairs.length) return given;
  return Array.isArray(given) ? kept.flat() : Object.fromEntries(kept);
}

/** How the names of all our headers begin. */
const OURS = /^(?:x-)?ratelimit/i;
const R = 0x72;
const X = 0x78;
const LOWER_CASE = 0x20;

function mayBeOurs(given: NonNullable<Given>): boolean {
  if (Array.isArray(given)) return toPairs(given).some(([name]) => startsAsOurs(name));
  for (const name in given) if (startsAsOurs(name)) return true;
  return false;
}

/** One look at its first letter is enough for most headers (bench http/node). */
function startsAsOurs(name: string): boolean {
  const first = name.charCodeAt(0) | LOWER_CASE;
  return (first === R || first === X) && OURS.test(name);
}

function isOurs(name: string, fields: HeaderFields): boolean {
  const lowerCase = name.toLowerCase();
  for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === lowerCase) return true;
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
