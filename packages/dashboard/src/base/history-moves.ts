// The back and forward buttons of the browser, before the router hears of them. Listeners of a window run in the order in
// which they were added, so the page imports this file before it starts.

let task: ((event: PopStateEvent) => void) | undefined;

addEventListener("popstate", (event) => task?.(event));

/** Calls `listener` when the user goes back or forward; it can stop the event. Returns what ends that. */
export function beforeHistoryMoves(listener: (event: PopStateEvent) => void): () => void {
  task = listener;
  return () => {
    if (task === listener) task = undefined;
  };
}
