// Where the service takes time and timers from, and nowhere else: listeners and tests pass them on.

import { performance } from "node:perf_hooks";

/** Stops a timer that has not run yet. */
export type CancelTimer = () => void;

/** A reading to measure spans with, in milliseconds with fractions. */
export function readMs(): number {
  return performance.now();
}

/** The wall clock, in milliseconds since 1970. */
export function wallMs(): number {
  return Date.now();
}

/** Runs `task` once, `delayMs` from now. It keeps no process alive. */
export function after(delayMs: number, task: () => void): CancelTimer {
  const timer = setTimeout(task, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** The same for what a caller waits for: it keeps the process alive. */
export function afterAlive(delayMs: number, task: () => void): CancelTimer {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Runs `task` every `everyMs`. It keeps no process alive. */
export function every(everyMs: number, task: () => void): CancelTimer {
  const timer = setInterval(task, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Resolves `delayMs` from now, or immediately when `signal` aborts. It keeps the process alive meanwhile. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal?.addEventListener("abort", end);
  });
}

/** Runs `task` at the end of this turn of the event loop, when all that came in has been looked at. */
export function atEndOfTurn(task: () => void): void {
  setImmediate(task);
}

/** Resolves in the next turn of the event loop, so that what else waits is served first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => atEndOfTurn(resolve));
}
