// What a new caller costs when something is full and evicts its oldest entry: keys beyond ten times the bound,
// over those that fill it. Each key is new. With eviction in constant time the ratio is near 1, and above it by
// the eviction itself. Measured in processor time: by the clock, other load on the machine doubled either side.

import {
  BoundedMap,
  concurrency,
  createLimiter,
  type Decision,
  eventual,
  type Limit,
  memoryStore,
  tokenBucket,
} from "sluice";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { toKey } from "../random.js";
import { toTimeFinding } from "../rules/time.js";

/** In full, the default of `receiptsMax`, and of `keysMax` of an eventual store. */
const BOUND = effort({ full: 100_000, quick: 10_000 });
const BEYOND = 10;
const ROUNDS = 15;
const HOUR_MS = 3_600_000;
/** Keys are bounded as well, so that the processor's cache holds as much of the store beyond the bound as before. */
const BOUNDS = { receiptsMax: BOUND, keysMax: BOUND };

/** Makes something with this bound. Returns a function that admits a new caller. */
type Subject = () => (key: string) => boolean;

const bucket: Limit = tokenBucket({ capacity: 100, refill: { amount: 100, everyMs: HOUR_MS } });

const subjects: Record<string, Subject> = {
  "BoundedMap set": () => {
    const map = new BoundedMap<string, string>(BOUND);
    return (key) => {
      map.set(key, key);
      return true;
    };
  },
  reserve: () => {
    const limiter = createLimiter({ limit: bucket, store: memoryStore(BOUNDS) });
    return (key) => limiter.reserve(key).allowed;
  },
  acquire: () => {
    const limit = concurrency({ limit: 10, permitMs: HOUR_MS });
    // Permits of keys that were evicted are free again, but a store that has none left refuses.
    const store = memoryStore({ ...BOUNDS, permitsMax: 2 * BOUND });
    const limiter = createLimiter({ limit, store });
    return (key) => limiter.acquire(key).allowed;
  },
  "eventual check": () => {
    // One exchange a minute, so that the keys of a run exceed the bound before any are exchanged.
    const store = eventual(memoryStore(BOUNDS), { keysMax: BOUND, syncMs: 60_000 });
    const limiter = createLimiter({ limit: bucket, store });
    return (key) => (limiter.check(key) as Decision).allowed;
  },
};

export const evict: Bench<Comparison> = {
  id: "bounded/evict",
  unit: "ratio",
  bound: { is: "at most", bar: 3, goal: 1.5 },
  parts: Object.keys(subjects),
  runPart: (part) => {
    const make = subjects[part] as Subject;
    return compare(beyond(part, make), upTo(make), {
      operations: BOUND,
      rounds: ROUNDS,
      isByCpu: true,
    });
  },
  conclude: (parts) => parts.map(toTimeFinding),
};

/** Adds new keys after ten times as many as there is room for. */
function beyond(name: string, make: Subject): Contender {
  const act = make();
  let id = 0;
  const run = (operations: number) => {
    let admitted = 0;
    for (const end = id + operations; id < end; ) if (act(toKey(id++))) admitted++;
    return admitted;
  };
  run(BEYOND * BOUND);
  return { name: `${name}, beyond ${BEYOND} × ${BOUND} keys`, run };
}

/** Fills a new one in each round. */
function upTo(make: Subject): Contender {
  let act = make();
  const run = (operations: number) => {
    let admitted = 0;
    for (let id = 0; id < operations; id++) if (act(toKey(id))) admitted++;
    return admitted;
  };
  const settle = () => {
    act = make();
  };
  return { name: `the same up to ${BOUND}`, run, settle };
}
