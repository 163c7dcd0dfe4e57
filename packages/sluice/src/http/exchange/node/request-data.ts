// Private data of adapters on requests of `node:http`, kept with the state of the request's stream. Express gives
// each request and response another hidden class with every property that is added to it: adding one costs 3 µs
// and more, and each read by name after that half a microsecond, since it meets a class that was never seen. The
// state of a stream has one class for all (bench http/express).

import type { IncomingMessage, ServerResponse } from "node:http";

// Variables, not names in the code: a read by name asks the engine's cache of hidden classes first, and takes its
// slowest path if that does not know one. A read by variable expects many classes.
const STATE = "_readableState" as const;
const REQUEST = "req" as const;
const SOCKET = "socket" as const;

/** A stream has a state; a request that a test made up may have none. */
interface WithState {
  readonly [STATE]?: object;
}

/** The object that holds the data of a request, read and written by symbols. */
export function dataOf(request: object): object {
  return (request as WithState)[STATE] ?? request;
}

/** The object that holds the data of a response: that of its request, or the response if it has no request. */
export function dataBehind(response: ServerResponse): object {
  const request = response[REQUEST] as IncomingMessage | undefined;
  return request === undefined ? response : dataOf(request);
}

/** The address of the peer; undefined over a Unix socket. */
export function peerOf(request: IncomingMessage): string | undefined {
  return request[SOCKET].remoteAddress;
}

/**
 * The prototype that a framework put right above Node's own, from which all of its objects inherit. Undefined
 * if there is none.
 */
export function sharedBelow(object: object, root: object): object | undefined {
  let prototype: object | undefined;
  let above: object | null = Object.getPrototypeOf(object);
  while (above !== null && above !== root) {
    prototype = above;
    above = Object.getPrototypeOf(above);
  }
  return above === null ? undefined : prototype;
}
