// When a response is over: sent, or its client gone. A request is taken in only when the responses before it
// on its connection are out, so that each has its connection from the beginning, and closes with it.

import type { ServerResponse } from "node:http";

/** Who is told that a response is over. */
export interface EndWatcher {
  onResponseClosed(): void;
}

const WATCHER = Symbol("sluice.watcher");
type Watched = ServerResponse & { [WATCHER]?: EndWatcher };

/** Whether nobody is there to take the response. */
export function isGone(response: ServerResponse): boolean {
  return response.closed || response.destroyed;
}

/** Tells `watcher` when the response is out or its client is gone. */
export function watchEnd(response: ServerResponse, watcher: EndWatcher): void {
  (response as Watched)[WATCHER] = watcher;
  // One function for all of them: a closure for each request would be one more to make.
  response.on("close", tellWatcher);
}

function tellWatcher(this: Watched): void {
  this[WATCHER]?.onResponseClosed();
}
