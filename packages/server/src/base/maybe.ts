// Values that are there at once or come later: what has its answer goes on in the same turn.

import type { MaybePromise } from "sluice";

/** Whether it has to be waited for. A promise of any make: a store may come with its own. */
export function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Goes on with a value: at once if it is there. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return isThenable(value) ? value.then(next) : next(value);
}
