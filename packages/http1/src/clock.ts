// Where this package takes time and timers from, and nowhere else.

import { performance } from "node:perf_hooks";

/** Stops a timer. */
export type CancelTimer = () => void;

/** A monotonic time to measure spans with, in milliseconds with fractions. */
export function readMs(): number {
  return performance.now();
}

/** The wall clock, in milliseconds since 1970. */
export function wallMs(): number {
  return Date.now();
}

/** Runs `task` every `everyMs`. It does not keep the process alive. */
export function every(everyMs: number, task: () => void): CancelTimer {
  const timer = setInterval(task, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Runs `task` at the end of this turn of the event loop, after everything that has arrived was handled. */
export function atEndOfTurn(task: () => void): void {
  setImmediate(task);
}
