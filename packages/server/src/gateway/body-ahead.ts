// Bodies before connections: a request takes a connection to its upstream only when its body is there, or as
// much of it as Node holds for a reader that is late. A client that sends its body byte by byte then waits
// with its own connection, and not with one of the few that lead to the upstream.

import type { IncomingMessage } from "node:http";

/**
 * Calls `go` once the whole body of a request has arrived, or its first bytes up to the stream's own bound
 * (`readableHighWaterMark`); at once if that is so. Not at all if the client leaves before. Nothing is
 * read: who reads the request afterwards finds all of it.
 */
export function whenBodyIsAhead(request: IncomingMessage, go: () => void): void {
  if (isAhead(request)) {
    go();
    return;
  }
  const look = () => {
    if (!isAhead(request)) {
      // Asks for more without taking any: else the stream would not tell of the next piece.
      request.read(0);
      return;
    }
    request.off("readable", look);
    go();
  };
  request.on("readable", look);
}

function isAhead(request: IncomingMessage): boolean {
  return request.complete || request.readableLength >= request.readableHighWaterMark;
}
