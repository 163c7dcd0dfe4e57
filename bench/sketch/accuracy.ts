// How much memory a sketch needs, and how often it refuses a key wrongly, with 50 million keys in one window: far more
// than an exact table of the same size could hold. Every request is also counted exactly. A wrong refusal is one that
// an exact counter would have admitted; a wrong admission would be a defect, and counts as an infinite figure.

import { createLimiter, memoryStore, sketch } from "sluice";
import { ManualClock } from "sluice/testing";
import { type Bench, type Finding, toPercent } from "../bench.js";
import { effort } from "../effort.js";
import { toKey } from "../random.js";
import { SKETCH } from "./sketch-size.js";
import { ZipfRequests } from "./zipf-requests.js";

const SIZE = effort({
  full: { keys: 50_000_000, requests: 100_000_000 },
  quick: { keys: 500_000, requests: 1_000_000 },
});
const LIMIT = 100;
const WINDOW_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 1);
const WRONG_SHARE_MAX = 0.001;

/** What a sketch and an exact counter decided. */
interface Tally {
  readonly bytes: number;
  /** Requests that the exact counter admitted. */
  readonly admitted: number;
  /** Those of them that the sketch refused. */
  readonly wronglyRefused: number;
  /** Requests that only the sketch admitted. */
  readonly wronglyAdmitted: number;
  readonly errorUnits: number;
}

export const bytes: Bench<Tally> = {
  id: "sketch/bytes",
  unit: "MB",
  bound: { is: "at most", bar: 64, goal: 16 },
  parts: ["all"],
  runPart: countAll,
  conclude: (parts) => parts.map((tally) => toFinding(tally, mbOf(tally))),
};

export const wrong: Bench<Tally> = {
  id: "sketch/wrong",
  unit: "percent",
  bound: { is: "at most", bar: 0.1, goal: 0.01 },
  parts: ["all"],
  runPart: countAll,
  conclude: (parts) => parts.map((tally) => toFinding(tally, 100 * wrongShareOf(tally))),
};

function countAll(): Tally {
  const store = memoryStore({ keysMax: 1 });
  const limit = sketch({ limit: LIMIT, windowMs: WINDOW_MS, ...SKETCH });
  const limiter = createLimiter({ limit, store, clock: new ManualClock(START_MS) });
  const requests = new ZipfRequests(SIZE);
  const counts = new Uint8Array(requests.repeated);
  const tally = { admitted: 0, wronglyRefused: 0, wronglyAdmitted: 0 };
  for (let i = 0; i < SIZE.requests; i++) {
    const rank = requests.rankOf(i);
    // A key that sends one request is below its limit.
    const isRepeated = rank < requests.repeated;
    const isRight = !isRepeated || (counts[rank] as number) < LIMIT;
    if (isRepeated && isRight) counts[rank]++;
    const isAdmitted = limiter.check(toKey(rank)).allowed;
    if (isRight) tally.admitted++;
    if (isRight && !isAdmitted) tally.wronglyRefused++;
    if (isAdmitted && !isRight) tally.wronglyAdmitted++;
  }
  const [{ bytes, errorUnits } = { bytes: Number.NaN, errorUnits: Number.NaN }] =
    store.stats.sketches;
  return { ...tally, bytes, errorUnits };
}

function toFinding(tally: Tally, value: number): Finding {
  const { errorUnits, wronglyRefused, wronglyAdmitted } = tally;
  const isKept = wronglyAdmitted === 0 && wrongShareOf(tally) <= WRONG_SHARE_MAX;
  return {
    subject: `sluice sketch, ${SIZE.keys / 1e6} million keys`,
    // Too many wrong refusals, or any wrong admission: the size is too small to count.
    value: isKept ? value : Number.POSITIVE_INFINITY,
    note: `${mbOf(tally).toFixed(1)} MB; ${wronglyRefused} wrong refusals (${toPercent(wrongShareOf(tally))}), ${wronglyAdmitted} wrong admissions; a key never seen is over-counted by ${errorUnits.toFixed(1)}`,
  };
}

function mbOf({ bytes }: Tally): number {
  return bytes / 1e6;
}

function wrongShareOf({ wronglyRefused, admitted }: Tally): number {
  return wronglyRefused / admitted;
}
