// The step tables, run through a limiter: the same numbers that the pure functions have to show.

import { type StepCase, type StepRow, stepCases } from "../step-tables.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision } from "./expect.js";
import { Gate } from "./stand.js";

/** One claim for each table. */
export const tableClaims: readonly Claim[] = stepCases.map((stepCase) => ({
  group: "the step tables hold",
  title: stepCase.name,
  about: [stepCase.limit.algorithm],
  check: (stand) => runTable(stand, stepCase),
}));

async function runTable(stand: Stand, { limit, key = "key", steps }: StepCase): Promise<void> {
  const gate = new Gate(stand, limit);
  for (const [i, row] of steps.entries()) {
    const [atMs, cost] = row;
    stand.clock.set(atMs);
    const seen = await gate.take(key, cost);
    expectDecision(`step ${i}, a cost of ${cost} at ${atMs}`, seen, {
      ...answerOf(row),
      limit: limit.capacity,
    });
  }
}

function answerOf([, , allowed, remaining, retryAfterMs, resetMs, delayMs = 0]: StepRow) {
  return { allowed, remaining, retryAfterMs, resetMs, delayMs };
}
