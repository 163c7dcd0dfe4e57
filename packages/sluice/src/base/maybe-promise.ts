// Values that are there at once or come later. Memory never waits: what has its answer goes on in the
// same turn, and only what really comes over a network becomes a promise.

/** A value now, or a promise of it. `await` serves both. */
export type MaybePromise<T> = T | Promise<T>;

/** Whether it has to be waited for. A promise of any make: a store may come with its own. */
export function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Goes on with a value: at once if it is there. (Not `then`: a module with that name is waited for.) */
export function andThen<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/**
 * Calls a listener and waits for nothing. What it throws or rejects with goes to `onError`; default: it
 * is dropped, for there is nobody left to tell.
 */
export function tell(call: () => unknown, onError: (error: unknown) => void = ignore): void {
  try {
    const done = call();
    if (isThenable(done)) Promise.resolve(done).catch(onError);
  } catch (error) {
    onError(error);
  }
}

/** Lets go of a value that nobody wants, which may be a promise: that it fails ends no process. */
export function drop(value: unknown): void {
  tell(() => value);
}

function ignore(): void {}
