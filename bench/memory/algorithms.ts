// Every algorithm at three sizes, each beside the bare Map of the same size in the same rounds.
// Reported, not judged: it shows which algorithm costs what, and where the caches end.

import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "sluice";
import { type Bench, type Finding, toFinding } from "../bench.js";
import { bareMap, sluiceChecks, sluicePermits } from "../contenders.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";

const SIZES = effort({ full: [1_000, 100_000, 1_000_000], quick: [1_000] });
const OPERATIONS = 200_000;
// Acquiring and releasing a permit takes microseconds, and needs fewer operations to be timed.
const PERMIT_OPERATIONS = 50_000;
const ROUNDS = 7;
// Generous: the fewest keys get a few thousand requests a second each.
const UNITS = 1_000_000;
const WINDOW_MS = 60_000;

const limits: Readonly<Record<string, Limit>> = {
  tokenBucket: tokenBucket({ capacity: UNITS, refillPerSecond: 10_000 }),
  leakyBucket: leakyBucket({ ratePerSecond: 10_000, queueSize: UNITS }),
  fixedWindow: fixedWindow({ limit: UNITS, windowMs: WINDOW_MS }),
  "fixedWindow by key": fixedWindow({ limit: UNITS, windowMs: WINDOW_MS, align: "key" }),
  slidingWindowCounter: slidingWindowCounter({ limit: UNITS, windowMs: WINDOW_MS }),
  // A short window, so that entries expire as fast as they come and the arena stays bounded.
  slidingWindowLog: slidingWindowLog({ limit: 10_000, windowMs: 1_000 }),
  quota: quota({ limit: UNITS, period: "day", timeZone: "Europe/Paris" }),
  concurrency: concurrency({ limit: 100, permitMs: WINDOW_MS }),
};

export const algorithms: Bench<readonly Comparison[]> = {
  id: "memory/algorithms",
  unit: "ratio",
  parts: Object.keys(limits),
  runPart: async (algorithm) => {
    const comparisons: Comparison[] = [];
    for (const keys of SIZES) comparisons.push(await raceMap(algorithm, keys));
    return comparisons;
  },
  conclude: (parts) => parts.flat().map(toTimedFinding),
};

function raceMap(algorithm: string, keys: number): Promise<Comparison> {
  const operations = algorithm === "concurrency" ? PERMIT_OPERATIONS : OPERATIONS;
  return compare(toContender(algorithm, keys), bareMap(keys), { operations, rounds: ROUNDS });
}

function toContender(algorithm: string, keys: number): Contender {
  const limit = limits[algorithm] as Limit;
  const size = keys.toLocaleString("en");
  return limit.algorithm === "concurrency"
    ? sluicePermits(`sluice ${algorithm} acquire and release, ${size} keys`, limit, keys)
    : sluiceChecks(`sluice ${algorithm} check, ${size} keys`, limit, keys);
}

function toTimedFinding(comparison: Comparison): Finding {
  const finding = toFinding(comparison);
  const { subject, reference } = comparison;
  const ns = (perSec: number) => Math.round(1e9 / perSec);
  const times = `${ns(subject.medianPerSec)} ns, Map ${ns(reference.medianPerSec)} ns`;
  return { ...finding, note: `${times}; ${finding.note}` };
}
