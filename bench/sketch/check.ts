// A check in a sketch over one in the exact table, both with ten million keys that come at random. The sketch is of the
// size that sketch/bytes measures. The figure is the time of the sketch over that of the table.

import { createLimiter, fixedWindow, type Limit, memoryStore, sketch } from "sluice";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare, summarise } from "../harness.js";
import { FreshIds, RandomIds, toKey } from "../random.js";
import { SKETCH } from "./sketch-size.js";

const KEYS = effort({ full: 10_000_000, quick: 200_000 });
const OPERATIONS = effort({ full: 1_000_000, quick: 100_000 });
const LIMIT = 100;
// So long that no window ends during a run.
const WINDOW_MS = 86_400_000;

export const check: Bench<Comparison> = {
  id: "sketch/check",
  unit: "ratio",
  bound: { is: "at most", bar: 1, goal: 0.6 },
  parts: ["all"],
  heapMbMax: 4096,
  runPart: () => compare(sketchChecks(), tableChecks(), { operations: OPERATIONS }),
  conclude: (parts) => parts.map(toTimes),
};

function sketchChecks(): Contender {
  const limit = sketch({ limit: LIMIT, windowMs: WINDOW_MS, ...SKETCH });
  return checksOf(`sluice sketch check, ${KEYS / 1e6} million keys`, limit);
}

function tableChecks(): Contender {
  const limit = fixedWindow({ limit: LIMIT, windowMs: WINDOW_MS });
  return checksOf(`sluice fixedWindow check, ${KEYS / 1e6} million keys`, limit);
}

/** Checks of keys at random, all of which were seen before. */
function checksOf(name: string, limit: Limit): Contender {
  const limiter = createLimiter({ limit, store: memoryStore({ keysMax: KEYS }) });
  const all = new FreshIds(KEYS);
  for (let i = 0; i < KEYS; i++) limiter.check(toKey(all.next()));
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      if (limiter.check(toKey(ids.next())).allowed) admitted++;
    }
    return admitted;
  };
  return { name, run };
}

/** The figure is of times, so that less is better. */
function toTimes({ subject, reference }: Comparison): Finding {
  const times = subject.perSec.map((perSec, round) => (reference.perSec[round] as number) / perSec);
  const { value, spread } = summarise(times);
  return {
    subject: subject.name,
    reference: reference.name,
    subjectPerSec: subject.medianPerSec,
    referencePerSec: reference.medianPerSec,
    ratio: value,
    value,
    spread,
  };
}
