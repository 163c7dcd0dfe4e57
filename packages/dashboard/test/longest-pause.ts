// How long the service is held up. It runs in the process of the tests, whose timers are late by as much.

/** The longest time for which this process, and the service in it, did nothing else while `task` ran. */
export async function withLongestPause<T>(task: () => Promise<T>) {
  let pauseMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    pauseMs = Math.max(pauseMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 5);
  const result = await task();
  clearInterval(timer);
  return { result, pauseMs };
}
