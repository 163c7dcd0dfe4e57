// Values that are there immediately or come as a promise: code that has its value continues synchronously.

import type { MaybePromise } from "sluice";

/** Whether a value is a promise of any kind: a custom store may use its own. */
export function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Calls `next` with a value: immediately, unless it is a promise. */
export function andThen<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return isThenable(value) ? value.then(next) : next(value);
}
