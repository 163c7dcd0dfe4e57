// What a test starts and has to end, and how it waits for something to happen.

import { sleep } from "./clock.js";

const closers: (() => unknown)[] = [];

/** Ends everything that was given to {@link onStop}, the latest first. */
export async function stopAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

/** Has something ended by {@link stopAll}. */
export function onStop(close: () => unknown): void {
  closers.push(close);
}

/** Polls until `isThere`, for at most ten seconds. */
export async function eventually(isThere: () => unknown, what = "it"): Promise<void> {
  for (let looks = 0; looks < 500; looks++) {
    if (await isThere()) return;
    await sleep(20);
  }
  throw new Error(`${what} did not happen within ten seconds`);
}
