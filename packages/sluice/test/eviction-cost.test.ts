// What is full evicts its oldest entry for each new one. That must not cost more the larger the bound is:
// the first entry of a Map or the first item of an array is found or removed in time that grows with it.

import { describe, expect, it } from "vitest";
import { TokenCache } from "../src/http/identity/jwt/token-cache.js";
import {
  BoundedMap,
  type ChargeReceipt,
  concurrency,
  createLimiter,
  denyCache,
  eventual,
  fixedWindow,
  memoryStore,
  tokenBucket,
} from "../src/index.js";
import { Unsettled } from "../src/stores/resilient/unsettled-receipts.js";
import { ManualClock } from "../src/testing/testing.js";

const SMALL = 1_000;
// Little more than half of what a Map of its size has room for, which is what it walks over in the end.
const LARGE = 70_000;
/** Caches make the large one dearer by 1 to 4; walking over what was deleted, by 10 to 180. */
const RATIO_MAX = 8;
const ROUNDS = 40;
const OPERATIONS = 500;

/** Does something for the nth new caller, with a structure that has this bound. */
type Subject = (bound: number) => (n: number) => void;

const clock = new ManualClock(1_000_000);
const keysMax = 2 * LARGE;
const bucket = tokenBucket({ capacity: 1_000, refillPerSecond: 1 });

const subjects: Record<string, Subject> = {
  "BoundedMap.set": (bound) => {
    const map = new BoundedMap<string, number>(bound);
    return (n) => map.set(`user:${n}`, n);
  },
  reserve: (receiptsMax) => {
    const store = memoryStore({ receiptsMax, keysMax });
    const limiter = createLimiter({ limit: bucket, store, clock });
    return (n) => limiter.reserve(`user:${n}`);
  },
  "reserve by one caller": (receiptsMax) => {
    const store = memoryStore({ receiptsMax, keysMax });
    const limit = fixedWindow({ limit: 1_000_000, windowMs: 60_000 });
    const limiter = createLimiter({ limit, store, clock });
    return () => limiter.reserve("user:0");
  },
  acquire: (receiptsMax) => {
    const store = memoryStore({ receiptsMax, keysMax, permitsMax: keysMax });
    const limit = concurrency({ limit: 10, permitMs: 60_000 });
    const limiter = createLimiter({ limit, store, clock });
    return (n) => limiter.acquire(`user:${n}`);
  },
  "check with a request id": (requestsMax) => {
    const store = memoryStore({ requestsMax, keysMax });
    const limiter = createLimiter({ limit: bucket, store, clock });
    return (n) => limiter.check(`user:${n}`, { requestId: `request-${n}` });
  },
  eventual: (bound) => {
    const store = eventual(memoryStore({ keysMax }), { keysMax: bound, clock });
    const limiter = createLimiter({ limit: bucket, store, clock });
    return (n) => limiter.check(`user:${n}`);
  },
  "a refusal by the store": (bound) => {
    const store = denyCache(memoryStore({ keysMax }), { keysMax: bound, clock });
    const limiter = createLimiter({ limit: bucket, store, clock });
    return (n) => limiter.check(`user:${n}`, { cost: 1_001 });
  },
  "a verified token": (tokensMax) => {
    const tokens = new TokenCache(tokensMax);
    return (n) => tokens.set(`hash-${n}`, {}, 2_000_000);
  },
  "a settling that waits": (settlingsMax) => {
    const unsettled = new Unsettled(settlingsMax);
    const receipt = {} as ChargeReceipt;
    return (n) => unsettled.add([{ receipt, kept: n, nowMs: 0 }]);
  },
};

describe("evicting the oldest of many", () => {
  for (const [name, subject] of Object.entries(subjects)) {
    it(`costs a full bound of ${LARGE} about what it costs one of ${SMALL}: ${name}`, () => {
      const [small, large] = [SMALL, LARGE].map((bound) => full(subject(bound), bound));
      expect(ratio(large, small)).toBeLessThan(RATIO_MAX);
    });
  }

  it("costs a full arena, which refuses, no more than one with room, which admits", () => {
    const limit = concurrency({ limit: 10, permitMs: 60_000 });
    const [none, enough] = [SMALL, 2 * LARGE].map((permitsMax) => {
      const store = memoryStore({ permitsMax, keysMax: permitsMax });
      const limiter = createLimiter({ limit, store, clock });
      return full((n) => limiter.acquire(`user:${n}`), SMALL);
    });
    expect(ratio(none, enough)).toBeLessThan(3);
  });
});

/** Fills a structure beyond its bound; returns what measures a round of further callers, in microseconds. */
function full(act: (n: number) => void, bound: number): () => number {
  let n = 0;
  while (n < bound * 1.5) act(n++);
  return () => {
    const before = process.cpuUsage();
    for (const end = n + OPERATIONS; n < end; ) act(n++);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
}

/** In turns, by processor time, and the medians compared: a busy machine does not matter. */
function ratio(...runs: readonly (() => number)[]): number {
  const rounds = Array.from({ length: ROUNDS }, () => runs.map((run) => run()));
  const [subject, reference] = runs.map((_, i) => median(rounds.map((round) => round[i])));
  return subject / reference;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
