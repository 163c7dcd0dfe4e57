// The end of a response: it was sent, or its client is gone. A pipelined response gets its socket only when the
// responses before it are sent. If the connection closes first, the response emits neither "close" nor "finish", even
// though its handler has answered, so the connection is watched instead.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The callbacks of each connection. No larger than the queue of responses that Node.js itself holds for it: a callback
 * is removed with its response.
 */
const endings = new WeakMap<Socket, Set<() => void>>();

/** The connection of a response that is still queued; undefined if it is not queued or has no connection. */
function queuedSocketOf(response: ServerResponse): Socket | undefined {
  return response.socket === null ? response.req?.socket : undefined;
}

/** Whether the client of the response is gone. */
export function isGone(response: ServerResponse): boolean {
  if (response.closed || response.destroyed) return true;
  return queuedSocketOf(response)?.destroyed === true;
}

/** Calls `end` when the response is sent or its client is gone: once or twice. */
export function watchEnd(response: ServerResponse, end: () => void): void {
  const socket = queuedSocketOf(response);
  if (socket === undefined) {
    response.once("close", end);
    return;
  }
  const open = openAt(socket);
  open.add(end);
  response.once("close", () => {
    open.delete(end);
    end();
  });
}

/** One listener for each connection, however many responses are queued. */
function openAt(socket: Socket): Set<() => void> {
  const known = endings.get(socket);
  if (known !== undefined) return known;
  const open = new Set<() => void>();
  endings.set(socket, open);
  socket.once("close", () => {
    for (const end of open) end();
  });
  return open;
}
