// What stays on the heap after ten million decisions on known keys: a limiter that leaves no lasting garbage gives
// the collector nothing to trace.

import { createLimiter } from "sluice";
import type { Bench } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { collectGarbage, summarise } from "../harness.js";
import { RandomIds, toKey } from "../random.js";

const KEYS = 100_000;
const WARM_UP_DECISIONS = effort({ full: 3_000_000, quick: 300_000 });
const DECISIONS = effort({ full: 10_000_000, quick: 300_000 });
const ROUNDS = effort({ full: 5, quick: 1 });
const READINGS = 5;

export const heap: Bench<readonly number[]> = {
  id: "memory/heap",
  unit: "bytes",
  bound: { is: "below", bar: 1_000_000, goal: 0 },
  parts: ["all"],
  runPart: retainedByRound,
  conclude: (parts) =>
    parts.map((retained) => ({
      subject: `sluice tokenBucket check, ${DECISIONS / 1e6} million decisions`,
      ...summarise(retained),
      note: `heap and external memory after gc(), median of ${ROUNDS} rounds`,
    })),
};

function retainedByRound(): number[] {
  const limiter = createLimiter({ limit: generousBucket });
  const ids = new RandomIds(KEYS);
  const decide = (decisions: number) => {
    for (let i = 0; i < decisions; i++) limiter.check(toKey(ids.next()));
  };
  decide(WARM_UP_DECISIONS);
  const retained: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bytesBefore = heldBytes();
    decide(DECISIONS);
    retained.push(heldBytes() - bytesBefore);
  }
  return retained;
}

function heldBytes(): number {
  // Single readings jitter by some 50 kB with what the compiler and finalizers hold for a moment.
  const readings = Array.from({ length: READINGS }, () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  });
  return Math.min(...readings);
}
