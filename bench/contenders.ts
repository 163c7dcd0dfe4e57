// The contenders of the speed benchmarks: Sluice through its public verbs; a bare Map, the least that any limiter
// in JavaScript could do; and the peers, called as their documentation says. Each has its own loop, so that the
// compiler sees one kind of call in it.

import { MemoryStore as ExpressMemoryStore, type Options } from "express-rate-limit";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { createLimiter, type Limit, type Limiter, memoryStore, tokenBucket } from "sluice";
import type { Contender } from "./harness.js";
import { RandomIds, toKey } from "./random.js";

// Generous on every side, so that what is measured is admission.
const POINTS = 100_000;
const WINDOW_MS = 3_600_000;

/** The limit of the comparisons: 100,000 an hour, a bucket that is hardly ever empty. */
export const generousBucket: Limit = tokenBucket({
  capacity: POINTS,
  refill: { amount: POINTS, everyMs: WINDOW_MS },
});

// Twice the default, for logs of a million keys; other limits set nothing aside for it.
const LOG_ENTRIES_MAX = 4_000_000;

/** `check` of every key at random, over a store of its own with the default bound of keys. */
export function sluiceChecks(name: string, limit: Limit, keys: number): Contender {
  const limiter = createLimiter({ limit, store: memoryStore({ logEntriesMax: LOG_ENTRIES_MAX }) });
  for (let id = 0; id < keys; id++) limiter.check(toKey(id));
  return { name, run: checkLoop(limiter, new RandomIds(keys)) };
}

/** `acquire` and `release` of every key at random: the round trip of a concurrency limit. */
export function sluicePermits(name: string, limit: Limit, keys: number): Contender {
  const limiter = createLimiter({ limit });
  const ids = new RandomIds(keys);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      const permit = limiter.acquire(toKey(ids.next()));
      if (permit.allowed) admitted++;
      permit.release();
    }
    return admitted;
  };
  return { name, run };
}

/** A bare Map of counters that decides nothing and forgets nothing. */
export function bareMap(keys: number): Contender {
  const counters = new Map<string, { count: number }>();
  for (let id = 0; id < keys; id++) counters.set(toKey(id), { count: 1 });
  const ids = new RandomIds(keys);
  const run = (operations: number) => {
    for (let i = 0; i < operations; i++) {
      const key = toKey(ids.next());
      const counter = counters.get(key);
      if (counter === undefined) counters.set(key, { count: 1 });
      else counter.count++;
    }
    return operations;
  };
  return { name: "bare Map<string, object>", run };
}

/** A memory limiter of rate-limiter-flexible under the same generous limit. */
export function flexibleLimiter(): RateLimiterMemory {
  return new RateLimiterMemory({ points: POINTS, duration: WINDOW_MS / 1000 });
}

/** rate-limiter-flexible as its README has it: `await consume(key)`, a rejection is a refusal. */
export async function flexibleConsumes(keys: number): Promise<Contender> {
  const limiter = flexibleLimiter();
  for (let id = 0; id < keys; id++) await limiter.consume(toKey(id));
  const ids = new RandomIds(keys);
  const run = async (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      try {
        await limiter.consume(toKey(ids.next()));
        admitted++;
      } catch (refusal) {
        mustBeRefusal(refusal);
      }
    }
    return admitted;
  };
  return { name: "rate-limiter-flexible RateLimiterMemory", run };
}

/** express-rate-limit's store as the middleware calls it: `await increment(key)`. */
export async function expressIncrements(keys: number): Promise<Contender> {
  const store = new ExpressMemoryStore();
  // The middleware passes all of its options; the store reads windowMs alone.
  store.init({ windowMs: WINDOW_MS } as Options);
  for (let id = 0; id < keys; id++) await store.increment(toKey(id));
  const ids = new RandomIds(keys);
  const run = async (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      const { totalHits } = await store.increment(toKey(ids.next()));
      if (totalHits <= POINTS) admitted++;
    }
    return admitted;
  };
  return { name: "express-rate-limit MemoryStore", run };
}

/** rate-limiter-flexible rejects with an Error if it failed, and with its answer if it refused. */
export function mustBeRefusal(refusal: RateLimiterRes | unknown): void {
  if (refusal instanceof Error) throw refusal;
}

function checkLoop(limiter: Limiter, ids: RandomIds): (operations: number) => number {
  return (operations) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      if (limiter.check(toKey(ids.next())).allowed) admitted++;
    }
    return admitted;
  };
}
