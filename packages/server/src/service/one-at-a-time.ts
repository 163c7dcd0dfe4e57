// Lets a task run once at a time, however often it is requested.

/**
 * Returns a function that runs `task`. While it runs, all who ask get the one run that comes after it: what
 * they asked for may be newer than what the present one has seen.
 */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  const start = (): Promise<void> => {
    running = task().finally(() => {
      running = undefined;
    });
    return running;
  };
  const startNext = (): Promise<void> => {
    waiting = undefined;
    return start();
  };
  return () => {
    if (running === undefined) return start();
    waiting ??= running.then(startNext, startNext);
    return waiting;
  };
}
