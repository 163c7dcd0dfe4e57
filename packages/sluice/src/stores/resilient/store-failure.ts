// Distinguishes failures of a store from mistakes of its caller, and describes what was seen. A misuse error reaches the
// caller unchanged; any other error means that the store did not answer.

import { errorCatalogue, SluiceError, show } from "../../base/errors.js";
import { isFenced } from "../fence-store.js";
import type { Store } from "../store.js";

const UNAVAILABLE = "SLUICE_STORE_UNAVAILABLE";
const SUMMARY = `${errorCatalogue[UNAVAILABLE].summary}: `;
const REASON_LENGTH_MAX = 200;

/** Whether the caller was wrong, not the store: another answer would not help. */
export function isMisuse(error: unknown): boolean {
  return error instanceof SluiceError && error.code !== UNAVAILABLE && !isFenced(error);
}

/** A second guard around the first, or around what answers in process, would never see a failure. */
export function mustBeUnguarded({ isGuarded }: Store): void {
  if (isGuarded !== true) return;
  const seen =
    "resilient: the store is guarded already, by another resilient(…) or by the decorator";
  const fix = "put it next to the network, as in leased(resilient(store, { … }))";
  throw new SluiceError("SLUICE_OPTION_INVALID", `${seen} around it; ${fix}`);
}

/** The store works, but has more to do than it could answer in time: the request was not sent. */
export class StoreBusy extends SluiceError {
  constructor(chargesMax: number) {
    super(UNAVAILABLE, `it is busy with ${chargesMax} other charges`);
  }
}

/** What is known about a failure, on one line of at most 200 characters. */
export function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return show(failure);
  const text = failure.message === "" ? failure.name : failure.message;
  const seen = text.startsWith(SUMMARY) ? text.slice(SUMMARY.length) : text;
  return seen.replace(/\s+/g, " ").slice(0, REASON_LENGTH_MAX);
}

/** The error that a caller sees of a failure, with the failure as its `cause`. */
export function toUnavailable(failure: unknown): SluiceError {
  const error = new SluiceError(UNAVAILABLE, reasonOf(failure));
  // As the constructor of Error defines it: readable, but not enumerable.
  Object.defineProperty(error, "cause", { value: failure, configurable: true, writable: true });
  return error;
}
