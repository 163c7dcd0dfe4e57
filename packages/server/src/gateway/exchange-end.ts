// When a response is over: sent, or its client gone. A pipelined response that waits behind another has no
// socket yet and never closes if the connection ends before its turn: then it is the connection that tells.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Who is told that a response is over: once or twice. */
export interface EndWatcher {
  onResponseClosed(): void;
}

const WATCHER = Symbol("sluice.watcher");
type Watched = ServerResponse & { [WATCHER]?: EndWatcher };

/** Who waits at each connection. No more than the responses that Node itself queues for it. */
const waiting = new WeakMap<Socket, Set<Watched>>();

/** Whether nobody is there to take the response. */
export function isGone(response: ServerResponse): boolean {
  if (response.closed || response.destroyed) return true;
  return response.socket === null && response.req.socket.destroyed;
}

/** Tells `watcher` when the response is out or its client is gone. */
export function watchEnd(response: ServerResponse, watcher: EndWatcher): void {
  (response as Watched)[WATCHER] = watcher;
  response.on("close", onClose);
  if (response.socket === null) waitersAt(response.req.socket).add(response);
}

function onClose(this: Watched): void {
  waiting.get(this.req.socket)?.delete(this);
  this[WATCHER]?.onResponseClosed();
}

/** One listener for each connection, however many wait at it. */
function waitersAt(socket: Socket): Set<Watched> {
  const known = waiting.get(socket);
  if (known !== undefined) return known;
  const waiters = new Set<Watched>();
  waiting.set(socket, waiters);
  socket.once("close", () => {
    for (const response of waiters) response[WATCHER]?.onResponseClosed();
  });
  return waiters;
}
