// How often the sliding window counter and the exact log decide differently, on a million requests of callers
// whose shares follow Zipf's law and who send bursts. Reported, not judged: two numbers for a key can't say when
// in the window the requests came. A manual clock provides the time, so the figures are the same in every run.

import {
  createLimiter,
  type Limit,
  memoryStore,
  slidingWindowCounter,
  slidingWindowLog,
} from "sluice";
import { ManualClock } from "sluice/testing";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { RandomIds, toKey } from "../random.js";

const REQUESTS = effort({ full: 1_000_000, quick: 30_000 });
const CALLERS = 100_000;
const ZIPF_EXPONENT = 1;
const WINDOW_MS = 60_000;
// Any arrival may be the first of a burst of the same caller.
const BURST_SHARE = 0.02;
const BURST_SIZE = 20;
const BURST_GAP_MS = 25;
const START_MS = Date.UTC(2026, 0, 1);

// The busiest of 100,000 callers sends 8% of all requests, some 500 a minute.
const REQUESTS_PER_SECOND = 100;
// From one that only the busiest ever meets to one that refuses a quarter of all requests.
const LIMITS = [1_000, 500, 100, 20];

/** What the two decided. */
interface Tally {
  readonly limit: number;
  readonly falseAdmits: number;
  readonly falseRefusals: number;
  readonly refusedByCounter: number;
  readonly refusedByLog: number;
}

export const slidingCounter: Bench<Tally> = {
  id: "accuracy/sliding-counter",
  unit: "percent",
  parts: LIMITS.map(String),
  runPart: (limit) => decideBoth(Number(limit)),
  conclude: (tallies) => tallies.map(toFinding),
};

function decideBoth(limit: number): Tally {
  const clock = new ManualClock(START_MS);
  const counter = limiterOf(slidingWindowCounter({ limit, windowMs: WINDOW_MS }), clock);
  const log = limiterOf(slidingWindowLog({ limit, windowMs: WINDOW_MS }), clock);
  let falseAdmits = 0;
  let falseRefusals = 0;
  let refusedByCounter = 0;
  let refusedByLog = 0;
  for (const { caller, atMs } of requestsOf()) {
    clock.set(START_MS + atMs);
    const isAdmitted = counter.check(toKey(caller)).allowed;
    const isRight = log.check(toKey(caller)).allowed;
    if (!isAdmitted) refusedByCounter++;
    if (!isRight) refusedByLog++;
    if (isAdmitted && !isRight) falseAdmits++;
    if (!isAdmitted && isRight) falseRefusals++;
  }
  return { limit, falseAdmits, falseRefusals, refusedByCounter, refusedByLog };
}

function limiterOf(limit: Limit, clock: ManualClock) {
  return createLimiter({ limit, clock, store: memoryStore({ logEntriesMax: 2 * REQUESTS }) });
}

interface Request {
  readonly caller: number;
  readonly atMs: number;
}

/** A million requests in the order of their time: a Poisson stream of callers and their bursts. */
function requestsOf(): readonly Request[] {
  const chance = new RandomIds(2 ** 31);
  const pickCaller = zipf(CALLERS, chance);
  // A burst counts as many requests, so arrivals are rarer by as much.
  const arrivalsPerMs = REQUESTS_PER_SECOND / 1000 / (1 + BURST_SHARE * (BURST_SIZE - 1));
  const requests: Request[] = [];
  for (let atMs = 0; requests.length < REQUESTS; ) {
    atMs += -Math.log(1 - chance.nextFraction()) / arrivalsPerMs;
    const caller = pickCaller();
    const size = chance.nextFraction() < BURST_SHARE ? BURST_SIZE : 1;
    for (let i = 0; i < size; i++) requests.push({ caller, atMs: atMs + i * BURST_GAP_MS });
  }
  return requests.toSorted((a, b) => a.atMs - b.atMs).slice(0, REQUESTS);
}

/** Picks callers so that the one of rank r comes in proportion to 1 / r^exponent. */
function zipf(callers: number, chance: RandomIds): () => number {
  const sums = new Float64Array(callers);
  let sum = 0;
  for (let rank = 0; rank < callers; rank++) {
    sum += 1 / (rank + 1) ** ZIPF_EXPONENT;
    sums[rank] = sum;
  }
  return () => firstAbove(sums, chance.nextFraction() * sum);
}

function firstAbove(sums: Float64Array, target: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sums[middle] as number) > target) high = middle;
    else low = middle + 1;
  }
  return low;
}

function toFinding(tally: Tally): Finding {
  const percent = (count: number) => (100 * count) / REQUESTS;
  const shown = (count: number) => `${percent(count).toFixed(4)}%`;
  const differing = tally.falseAdmits + tally.falseRefusals;
  const kinds = `false admits ${shown(tally.falseAdmits)}, false refusals ${shown(tally.falseRefusals)}`;
  const totals = `refused ${shown(tally.refusedByCounter)}, by the log ${shown(tally.refusedByLog)}`;
  return {
    subject: `sluice slidingWindowCounter, ${tally.limit} a minute`,
    reference: "sluice slidingWindowLog",
    value: percent(differing),
    note: `${kinds}; ${totals}`,
  };
}
