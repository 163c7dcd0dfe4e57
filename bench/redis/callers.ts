// Traffic: a number of callers at a time, each of which waits for its answer before it asks again. Callers that
// are answered immediately stay in the same turn of the event loop, so such traffic comes in turns: every caller
// asks once, then the network gets its turn.

import { setImmediate, setTimeout } from "node:timers/promises";
import type { Decision, Limiter } from "sluice";

/** How many ask at a time in all Redis benchmarks. */
export const CALLERS = 100;

/** Callers that ask over a network: each on its own, as fast as answers come. */
export async function runCallers(
  { operations, callers = CALLERS }: { operations: number; callers?: number },
  ask: () => Promise<boolean>,
): Promise<number> {
  let started = 0;
  let admitted = 0;
  const call = async () => {
    while (started < operations) {
      started++;
      if (await ask()) admitted++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return admitted;
}

/**
 * Callers of a limiter that mostly answers immediately: in each turn of the event loop all of them ask,
 * and those that have to wait are waited for. Returns how many were admitted.
 */
export async function runTurns(
  limiter: Limiter | Limiter<false>,
  operations: number,
  nextKey: () => string,
): Promise<number> {
  let admitted = 0;
  for (let done = 0; done < operations; done += CALLERS) {
    admitted += await askAll(limiter, CALLERS, nextKey);
    await setImmediate();
  }
  return admitted;
}

/** Requests that come evenly, this many a second. Returns how many were admitted. */
export async function runPaced(
  limiter: Limiter<false>,
  { operations, perSec }: { operations: number; perSec: number },
  nextKey: () => string,
): Promise<number> {
  const startMs = performance.now();
  let admitted = 0;
  for (let done = 0; done < operations; ) {
    const dueByNow = Math.floor(((performance.now() - startMs) * perSec) / 1000);
    const due = Math.min(dueByNow, operations) - done;
    admitted += await askAll(limiter, due, nextKey);
    done += due;
    await setTimeout(1);
  }
  return admitted;
}

/** Asks that many times in one turn. Returns a number if every answer was immediate. */
function askAll(
  limiter: Limiter | Limiter<false>,
  count: number,
  nextKey: () => string,
): number | Promise<number> {
  const later: Promise<Decision>[] = [];
  let admitted = 0;
  for (let i = 0; i < count; i++) {
    const decision = limiter.check(nextKey());
    if (decision instanceof Promise) later.push(decision);
    else if (decision.allowed) admitted++;
  }
  return later.length === 0 ? admitted : countLater(later, admitted);
}

async function countLater(later: readonly Promise<Decision>[], admitted: number): Promise<number> {
  const decisions = await Promise.all(later);
  return decisions.reduce((sum, { allowed }) => (allowed ? sum + 1 : sum), admitted);
}
