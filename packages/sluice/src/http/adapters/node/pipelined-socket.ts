// Connections of responses that wait behind others. A pipelined response gets its socket only when its
// turn comes; if the connection is gone by then it never closes, nor finishes, though its handler has
// answered. So the connection is watched.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * What ends with each connection. No larger than the queue of responses that Node itself holds for it:
 * an entry leaves with its response.
 */
const endings = new WeakMap<Socket, Set<() => void>>();

/** The connection of a response whose turn has not come; undefined if it has, or there is none. */
function queuedSocketOf(response: ServerResponse): Socket | undefined {
  return response.socket === null ? response.req?.socket : undefined;
}

/** Whether the client of the response is gone. */
export function isGone(response: ServerResponse): boolean {
  if (response.closed || response.destroyed) return true;
  return queuedSocketOf(response)?.destroyed === true;
}

/** Calls `end` when the response is out or its client is gone: once or twice. */
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

/** One listener for each connection, however many wait at it. */
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
