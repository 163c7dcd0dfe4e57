// Notes on requests of `node:http`, kept with the state of the request's stream. Express gives each request
// and response another hidden class with every property that is added to it: one costs 3 µs and more, and each
// reading by name after it half a microsecond, since it meets a class that was never seen. The state of a
// stream is of one class for all (bench http/express).

import type { IncomingMessage, ServerResponse } from "node:http";

// Variables, not names in the code: a reading by name goes to the engine's cache of hidden classes first, and
// to its slowest way if that does not know one. This is the way that expects many.
const STATE = "_readableState" as const;
const REQUEST = "req" as const;
const SOCKET = "socket" as const;

/** What has notes: a stream, and made up ones that have no state. */
interface Noted {
  readonly [STATE]?: object;
}

/** Where notes on a request are: to be read and written by symbols. */
export function notesOn(request: object): object {
  return (request as Noted)[STATE] ?? request;
}

/** Where notes on a response are: with its request; with itself if it knows none. */
export function notesBehind(response: ServerResponse): object {
  const request = response[REQUEST] as IncomingMessage | undefined;
  return request === undefined ? response : notesOn(request);
}

/** The address of the peer; undefined over a Unix socket. */
export function peerOf(request: IncomingMessage): string | undefined {
  return request[SOCKET].remoteAddress;
}

/**
 * What a framework put between its own objects and those of Node, as near to Node's as there is: all of its
 * objects inherit from there. Undefined if there is nothing.
 */
export function sharedBelow(object: object, root: object): object | undefined {
  let place: object | undefined;
  let above: object | null = Object.getPrototypeOf(object);
  while (above !== null && above !== root) {
    place = above;
    above = Object.getPrototypeOf(above);
  }
  return above === null ? undefined : place;
}
