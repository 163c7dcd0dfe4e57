// Where this package reads time. Real servers run on real time, so there is no clock to inject;
// what waits has a bound and says what it waited for.

import { performance } from "node:perf_hooks";

/** Milliseconds of a clock that never steps. */
export function nowMs(): number {
  return performance.now();
}

/** Resolves after `forMs` milliseconds. */
export function sleep(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs));
}

/** Runs `task` once after `delayMs` milliseconds, unless the returned function is called before. */
export function startTimer(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Settles as `work` does, or fails with `what` in the message after `withinMs` milliseconds. */
export function within<T>(withinMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`${what}: no answer within ${withinMs} ms`));
    const timer = setTimeout(late, withinMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const probeEveryMs = 15;

/**
 * Probes until the probe yields something other than `undefined`, and returns that. A probe that
 * fails counts as "not yet"; its last failure is in the error that comes after `withinMs`.
 */
export async function waitFor<T>(
  what: string,
  withinMs: number,
  probe: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const endMs = nowMs() + withinMs;
  let last: unknown = "not yet so";
  do {
    try {
      const found = await probe();
      if (found !== undefined) return found;
    } catch (error) {
      if (error instanceof StopWaiting) throw error.cause;
      last = error;
    }
    await sleep(probeEveryMs);
  } while (nowMs() < endMs);
  throw new Error(`waited ${withinMs} ms for ${what}: ${String(last)}`);
}

/** Thrown by a probe when waiting longer is of no use; its cause is what the waiter gets. */
export class StopWaiting extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}
