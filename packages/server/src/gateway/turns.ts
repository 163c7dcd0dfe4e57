// Pipelined requests, one at a time: a request is taken in only when the responses before it on its
// connection are out. Else a single connection could ask for thousands of things at once, and take every
// connection to the upstream and every place in the line for them.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * So many requests of a connection may wait behind another before it is not read from any more. Some,
 * since a client that leaves is only noticed while its connection is read from.
 */
const WAITING_MAX = 32;

/** How many requests wait, by connection; only connections with any are here. */
const waiting = new WeakMap<Socket, number>();

/** Whether a response has its connection, which it has once those before it are out. */
export function isItsTurn(response: ServerResponse): boolean {
  return response.socket !== null;
}

/** Calls `go` when the response's turn comes; not at all if the connection closes before. */
export function awaitTurn(
  request: IncomingMessage,
  response: ServerResponse,
  go: () => void,
): void {
  const { socket } = request;
  const count = (waiting.get(socket) ?? 0) + 1;
  waiting.set(socket, count);
  if (count > WAITING_MAX) socket.pause();
  response.once("socket", () => {
    const left = (waiting.get(socket) ?? 1) - 1;
    waiting.set(socket, left);
    if (left === 0) waiting.delete(socket);
    if (left <= WAITING_MAX / 2 && mayResume(socket)) socket.resume();
    go();
  });
}

/** Node marks connections that it has stopped reading itself, since their client does not read; it resumes them. */
function mayResume(socket: Socket & { _paused?: boolean }): boolean {
  return socket.isPaused() && socket._paused !== true;
}
