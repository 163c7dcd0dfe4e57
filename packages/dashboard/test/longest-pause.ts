// How long the service is held up. It runs in the process of the tests, whose timers are late by as much. As with pages
// (long-tasks.ts) it is processor time that counts: wall time includes what other programs on the machine take.

import { existsSync, readFileSync } from "node:fs";

/** Of the main thread: its processor time in nanoseconds, and two other numbers. Linux has it. */
const THREAD_TIMES = "/proc/self/schedstat";
const hasThreadTimes = existsSync(THREAD_TIMES);

/** Processor time of the thread that tests run in, in milliseconds; where it is not known, the time. */
export function processorMs(): number {
  if (!hasThreadTimes) return performance.now();
  return Number.parseInt(readFileSync(THREAD_TIMES, "utf8"), 10) / 1e6;
}

/** The longest time for which this process, and the service in it, did nothing else while `task` ran. */
export async function withLongestPause<T>(task: () => Promise<T>) {
  let pauseMs = 0;
  let lastMs = processorMs();
  const note = () => {
    const nowMs = processorMs();
    pauseMs = Math.max(pauseMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(note, 5);
  try {
    const result = await task();
    // The task may end before the timer of its last pause has run.
    note();
    return { result, pauseMs };
  } finally {
    clearInterval(timer);
  }
}
