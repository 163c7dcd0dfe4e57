// Long work that can be interrupted: a generator that yields wherever other work may run. The same generator runs in
// one go, or in slices between which the event loop continues.

import { atEndOfTurn, systemClock } from "./clock.js";

/** Work that yields often, and returns what comes of it. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** How long a slice takes, in milliseconds: about a step longer at most. */
const SLICE_MS = 5;

/** After this many items of a loop others may have their turn: a fraction of a millisecond. */
export const ITEMS_A_STEP = 64;

/** Runs work in one go. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs work in slices of a few milliseconds. Rejects with what it throws. */
export async function runInSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const endMs = systemClock.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done === true) return step.value;
    } while (systemClock.now() < endMs);
    await new Promise<void>((resolve) => atEndOfTurn(resolve));
  }
}

/** The results of `toResult` for all items, with steps between them. */
export function* mapInSteps<T, R>(
  items: readonly T[],
  toResult: (item: T, index: number) => R,
): Steps<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i++) {
    results.push(toResult(items[i], i));
    if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
  }
  return results;
}
