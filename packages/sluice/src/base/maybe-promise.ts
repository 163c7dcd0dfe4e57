// Values that are available immediately or later. A memory store answers without a promise, in the same turn
// of the event loop; only answers that come over a network are promises.

/** A value now, or a promise of it. `await` serves both. */
export type MaybePromise<T> = T | Promise<T>;

/** Whether the value is a promise, also one of another implementation: a custom store may use its own. */
export function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Calls `next` with the value, immediately if it is available. (Not called `then`: `import()` would await the module.) */
export function andThen<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/**
 * Calls a listener without waiting for it. What it throws or rejects with goes to `onError`; by default it is
 * ignored.
 */
export function notify(call: () => unknown, onError: (error: unknown) => void = ignore): void {
  try {
    const done = call();
    if (isThenable(done)) Promise.resolve(done).catch(onError);
  } catch (error) {
    onError(error);
  }
}

/** Ignores a value. If it is a promise that rejects, the process does not end by an unhandled rejection. */
export function drop(value: unknown): void {
  notify(() => value);
}

function ignore(): void {}
