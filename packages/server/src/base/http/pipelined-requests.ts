// Pipelined requests of `node:http`, one at a time: a request is taken in only when the responses before it on
// its connection are out. Else a single connection could ask for thousands of things at once.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * So many requests of a connection may wait behind another; with one more it is closed. No browser and no
 * proxy pipelines, and Node goes on reading whatever is asked of it, so that this is what bounds the memory
 * that one connection can take.
 */
export const PIPELINED_MAX = 256;

/** How many requests wait, by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `go` when the response's turn comes: at once if nothing is before it, not at all if the connection
 * closes before.
 */
export function inTurn(request: IncomingMessage, response: ServerResponse, go: () => void): void {
  // A response has its connection once those before it are out.
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
