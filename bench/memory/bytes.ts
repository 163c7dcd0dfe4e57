// Memory for each key with ten million live keys, in a store with a bound of ten million. The figure is the larger
// of what the process grew by and what the store reports: the first includes what the store does not report, the
// second pages that were allocated but never touched.

import {
  createLimiter,
  fixedWindow,
  type Limit,
  memoryStore,
  slidingWindowCounter,
  tokenBucket,
} from "sluice";
import { type Bench, type Finding, toPercent } from "../bench.js";
import { effort } from "../effort.js";
import { collectGarbage } from "../harness.js";
import { FreshIds, toKey } from "../random.js";

const KEYS = effort({ full: 10_000_000, quick: 500_000 });
const WARM_UP_KEYS = 10_000;
const WARM_UP_CHECKS = effort({ full: 3_000_000, quick: 500_000 });
const EVICTED_SHARE_MAX = 0.001;
// So long that nothing recovers before the last key is in: all are live.
const LIVE_MS = 86_400_000;

const limits: Readonly<Record<string, Limit>> = {
  tokenBucket: tokenBucket({ capacity: 100, refill: { amount: 100, everyMs: LIVE_MS } }),
  fixedWindow: fixedWindow({ limit: 100, windowMs: LIVE_MS }),
  slidingWindowCounter: slidingWindowCounter({ limit: 100, windowMs: LIVE_MS }),
};

/** What one algorithm needed. */
interface Footprint {
  readonly algorithm: string;
  readonly grownBytes: number;
  readonly statedBytes: number;
  readonly evictedShare: number;
}

export const bytesBucket: Bench<Footprint> = {
  id: "memory/bytes-bucket",
  unit: "bytes per key",
  bound: { is: "at most", bar: 32, goal: 20 },
  parts: ["tokenBucket", "fixedWindow"],
  runPart: weigh,
  conclude: (parts) => [worstOf(parts)],
};

export const bytesSliding: Bench<Footprint> = {
  id: "memory/bytes-sliding",
  unit: "bytes per key",
  bound: { is: "at most", bar: 48, goal: 32 },
  parts: ["slidingWindowCounter"],
  runPart: weigh,
  conclude: (parts) => [worstOf(parts)],
};

function weigh(algorithm: string): Footprint {
  const limit = limits[algorithm] as Limit;
  warmUp(limit);
  const bytesBefore = residentBytes();
  const store = memoryStore({ keysMax: KEYS });
  const limiter = createLimiter({ limit, store });
  const ids = new FreshIds(KEYS);
  for (let i = 0; i < KEYS; i++) limiter.check(toKey(ids.next()));
  const grownBytes = residentBytes() - bytesBefore;
  const { bytes, evictions } = store.stats;
  return { algorithm, grownBytes, statedBytes: bytes, evictedShare: evictions / KEYS };
}

/** Compiles the code and lets the nursery grow to its full size: neither is the store's. */
function warmUp(limit: Limit): void {
  const limiter = createLimiter({ limit, store: memoryStore({ keysMax: WARM_UP_KEYS }) });
  // The same ids as later: keys seen before would leave the nursery small.
  const ids = new FreshIds(KEYS);
  for (let i = 0; i < WARM_UP_CHECKS; i++) limiter.check(toKey(ids.next()));
}

function residentBytes(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}

function worstOf(footprints: readonly Footprint[]): Finding {
  const sorted = footprints.toSorted((a, b) => bytesPerKey(a) - bytesPerKey(b));
  const worst = sorted[sorted.length - 1] as Footprint;
  return {
    subject: `sluice ${worst.algorithm}, ${KEYS / 1e6} million live keys`,
    // With more evicted than that, the figure is not one of ten million live keys.
    value: isComplete(sorted) ? bytesPerKey(worst) : Number.POSITIVE_INFINITY,
    note: footprints.map(describe).join("; "),
  };
}

function isComplete(footprints: readonly Footprint[]): boolean {
  return footprints.every(({ evictedShare }) => evictedShare < EVICTED_SHARE_MAX);
}

function bytesPerKey({ grownBytes, statedBytes }: Footprint): number {
  return Math.max(grownBytes, statedBytes) / KEYS;
}

function describe({ algorithm, grownBytes, statedBytes, evictedShare }: Footprint): string {
  const grown = (grownBytes / KEYS).toFixed(2);
  const stated = (statedBytes / KEYS).toFixed(2);
  return `${algorithm}: process +${grown}, stats ${stated}, evicted ${toPercent(evictedShare)}`;
}
