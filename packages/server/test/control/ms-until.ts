// How long a change takes until it holds on other nodes: the control plane promises that.

import { vi } from "vitest";
import { readMs } from "../../src/base/clock.js";

/** How long it is waited for, so that a failure says how late it was. */
const GIVE_UP_MS = 20_000;
const LOOK_EVERY_MS = 10;
const ROUNDS_MAX = 3;

/** Milliseconds from now until `holds` resolves. Rejects as `holds` does if that never happens. */
export async function msUntil(holds: () => Promise<void>): Promise<number> {
  const startMs = readMs();
  await vi.waitFor(holds, { timeout: GIVE_UP_MS, interval: LOOK_EVERY_MS });
  return readMs() - startMs;
}

/** What the best of up to three rounds takes: a machine that is busy with something else is not a failure. */
export async function bestMs(promisedMs: number, round: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < ROUNDS_MAX && best >= promisedMs; n++) best = Math.min(best, await round());
  return best;
}
