// Pipelined requests of `node:http`, one at a time: a request is handled only when the responses before it on its
// connection are sent. Otherwise a single connection could have thousands of requests handled in parallel.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The most requests of a connection that may wait behind another; with one more the connection is closed. Browsers and
 * proxies don't pipeline, and Node continues reading in any case, so this bounds the memory that one connection can take.
 */
export const PIPELINED_MAX = 256;

/** How many requests wait, by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `go` when the response's turn comes: immediately if nothing is before it, never if the connection closes before.
 */
export function inTurn(request: IncomingMessage, response: ServerResponse, go: () => void): void {
  // A response gets its socket when those before it are sent.
  if (response.socket !== null) {
    go();
    return;
  }
  const { socket } = request;
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > PIPELINED_MAX) {
    socket.destroy();
    return;
  }
  waiting.set(socket, count);
  response.once("socket", () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    go();
  });
}
