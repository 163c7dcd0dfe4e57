// The memory store under pressure: floods, hostile keys, full arenas, bounded blocks and request
// ids, changed numbers, and what operators give while receipts are out.

import { describe, expect, it } from "vitest";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { asAnotherProcess } from "../../testing/another-process.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { memoryStore } from "./memory-store.js";

/** How many keys a flood has; `npm run soak` sends more. The store has room for one in ten. */
const FLOOD_KEYS = Number(process.env.SLUICE_FLOOD_KEYS ?? 1_000_000);
const START_MS = Date.UTC(2026, 0, 1);

function setup(limit: Limit | Limit[], options: Parameters<typeof memoryStore>[0] = {}) {
  const clock = new ManualClock(START_MS);
  const store = memoryStore(options);
  const limiter = createLimiter({ limit, store, clock });
  return { clock, store, limiter };
}

/** Two limiters of one name and store, as before and after a change of numbers. */
function renumbered(from: Limit, to: Limit) {
  const { clock, store } = setup(from);
  const [old, next] = [from, to].map((limit) =>
    createLimiter({ limit, store: asAnotherProcess(store), clock, name: "x" }),
  );
  return { clock, old, next };
}

function exhaust(limiter: { check(key: string): { allowed: boolean } }, key: string): void {
  let spent = 0;
  while (limiter.check(key).allowed) if (++spent > 1000) throw new Error("never exhausted");
}

describe("the memory of a store", () => {
  it("is set aside when a limiter is made, and no request adds to it", () => {
    const limits = [
      tokenBucket({ capacity: 5, refillPerSecond: 1 }),
      slidingWindowLog({ limit: 5, windowMs: 60_000 }),
      quota({ limit: 5, period: "month" }),
    ];
    const { store, limiter } = setup(limits, { keysMax: 1_000 });
    const { bytes } = store.stats;
    expect(bytes).toBeGreaterThan(1_000 * 3 * 16);
    limiter.check("a");
    expect(store.stats.bytes).toBe(bytes);
  });
});

describe("memoryStore under a flood", () => {
  it("keeps a throttled key throttled and admits a newcomer while ten times as many keys pass as it has room for", () => {
    const limit = fixedWindow({ limit: 10, windowMs: 3_600_000 });
    // One seed in some hundred lets two of this many keys share a fingerprint.
    const { store, limiter } = setup(limit, {
      keysMax: FLOOD_KEYS / 10,
      seed: { low: 1, high: 2 },
    });
    const offenders = Array.from({ length: 100 }, (_, i) => `offender:${i}`);
    for (const key of offenders) exhaust(limiter, key);
    for (let i = 0; i < FLOOD_KEYS; i++) limiter.check(`random:${i}`);
    for (const key of offenders) expect(limiter.check(key).allowed).toBe(false);
    expect(limiter.check("newcomer").allowed).toBe(true);
    const { keys, evictions, usageEvicted } = store.stats;
    expect(keys).toBe(FLOOD_KEYS / 10);
    expect(evictions).toBe(FLOOD_KEYS + 100 + 1 - FLOOD_KEYS / 10);
    // Each evicted key had used one unit in ten: nothing heavier was ever forgotten.
    expect(usageEvicted).toBeCloseTo(evictions / 10, 0);
  });

  it.each([
    ["tokenBucket", tokenBucket({ capacity: 20, refillPerSecond: 0.001 })],
    ["slidingWindowCounter", slidingWindowCounter({ limit: 20, windowMs: 3_600_000 })],
    ["slidingWindowLog", slidingWindowLog({ limit: 20, windowMs: 3_600_000 })],
    ["quota", quota({ limit: 20, period: "month" })],
  ])("keeps a throttled key throttled under %s too", (_name, limit) => {
    const { limiter } = setup(limit, { keysMax: 2000, logEntriesMax: 10_000 });
    exhaust(limiter, "offender");
    for (let i = 0; i < 50_000; i++) limiter.check(`random:${i}`);
    expect(limiter.check("offender").allowed).toBe(false);
    expect(limiter.check("newcomer").allowed).toBe(true);
  });

  it("does not let a flood under a short limit flush monthly counters", () => {
    const { clock, store } = setup(tokenBucket({ capacity: 5, refillPerSecond: 1 }), {
      keysMax: 1000,
    });
    const monthly = createLimiter({
      limit: quota({ limit: 100, period: "month" }),
      store,
      clock,
      name: "month",
    });
    const short = createLimiter({
      limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }),
      store,
      clock,
      name: "short",
    });
    monthly.check("tenant");
    for (let i = 0; i < 20_000; i++) for (let n = 0; n < 5; n++) short.check(`random:${i}`);
    expect(monthly.peek("tenant").remaining).toBe(99);
  });

  it("takes slots at rest first and counts no eviction for them", () => {
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 1 });
    const { store, limiter, clock } = setup(limit, { keysMax: 1000 });
    for (let i = 0; i < 1000; i++) limiter.check(`old:${i}`);
    const before = store.stats.evictions;
    clock.advance(1000);
    for (let i = 0; i < 500; i++) limiter.check(`new:${i}`);
    expect(store.stats.evictions).toBe(before);
    expect(store.stats.keys).toBeLessThanOrEqual(1000);
  });
});

describe("memoryStore and hostile keys", () => {
  it("spreads 100,000 keys that collide under the hash of an unseeded table", () => {
    // Under h = h × 31 + c, "Aa" and "BB" collide, and so does every mix of the two: 2^17 keys.
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 0.001 });
    const { store, limiter } = setup(limit, { keysMax: 138_000 });
    let admitted = 0;
    for (let bits = 0; bits < 2 ** 17; bits++) {
      let key = "";
      for (let i = 0; i < 17; i++) key += (bits >> i) & 1 ? "Aa" : "BB";
      if (limiter.check(key).allowed) admitted++;
    }
    expect(admitted).toBe(2 ** 17);
    // As many as random keys of that number lose; colliding ones would lose nearly all.
    expect(store.stats.evictions).toBeLessThan(2 ** 17 / 1000);
  });

  it("distinguishes keys that look like each other or like nothing", () => {
    const { limiter } = setup(fixedWindow({ limit: 1, windowMs: 60_000 }));
    const keys = [
      "__proto__",
      "constructor",
      "a",
      "A",
      "a ",
      "\0",
      "\0\0",
      "é",
      "e\u0301",
      "\ud800",
    ];
    for (const key of [...keys, "x".repeat(65_536), `${"x".repeat(65_535)}y`]) {
      expect(limiter.check(key).allowed).toBe(true);
      expect(limiter.check(key).allowed).toBe(false);
    }
  });

  it("keeps the same key under two names apart", () => {
    const { store, clock } = setup(fixedWindow({ limit: 1, windowMs: 60_000 }));
    const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
    const login = createLimiter({ limit, store, clock, name: "login" });
    const search = createLimiter({ limit, store, clock, name: "search" });
    expect(login.check("user:1").allowed).toBe(true);
    expect(search.check("user:1").allowed).toBe(true);
    expect(login.check("user:1").allowed).toBe(false);
  });
});

describe("memoryStore and full arenas", () => {
  it("refuses a log entry when no entry is left, counts it, and recovers by expiry", () => {
    const limit = slidingWindowLog({ limit: 10, windowMs: 1000 });
    const { clock, store, limiter } = setup(limit, { keysMax: 100, logEntriesMax: 5 });
    for (let i = 0; i < 5; i++) expect(limiter.check(`k${i}`).allowed).toBe(true);
    const refused = limiter.check("k5");
    expect(refused).toMatchObject({ allowed: false, remaining: 10, retryAfterMs: 1000 });
    expect(store.stats).toMatchObject({ entries: 5, arenaRefusals: 1 });
    clock.advance(1000);
    expect(limiter.check("k5").allowed).toBe(true);
  });

  it("does not need a new entry for another unit in the same millisecond", () => {
    const limit = slidingWindowLog({ limit: 10, windowMs: 1000 });
    const { store, limiter } = setup(limit, { keysMax: 100, logEntriesMax: 1000 });
    for (let i = 0; i < 10; i++) expect(limiter.check("k").allowed).toBe(true);
    expect(store.stats.entries).toBe(1);
  });

  it("frees the entries of a key that is evicted", () => {
    const limit = slidingWindowLog({ limit: 10, windowMs: 60_000 });
    const { store, limiter } = setup(limit, { keysMax: 10, logEntriesMax: 1000 });
    for (let i = 0; i < 500; i++) limiter.check(`k${i}`);
    expect(store.stats.entries).toBeLessThanOrEqual(10);
  });

  it("gives permits an arena of their own", () => {
    const limits = [
      slidingWindowLog({ limit: 1, windowMs: 1000 }),
      concurrency({ limit: 1, permitMs: 1000 }),
    ];
    const { store, limiter } = setup(limits, { keysMax: 100, permitsMax: 2 });
    expect(limiter.acquire("a").allowed).toBe(true);
    expect(limiter.acquire("b").allowed).toBe(true);
    expect(limiter.acquire("c").allowed).toBe(false);
    expect(store.stats.entries).toBe(4);
  });
});

describe("memoryStore and blocks", () => {
  it("holds a bounded number of blocks and forgets the one that ends first", () => {
    const { limiter, store } = setup(fixedWindow({ limit: 9, windowMs: 1000 }), { blocksMax: 2 });
    limiter.block("short", 1000);
    limiter.block("long", 9000);
    limiter.block("longer", 99_000);
    expect(store.stats).toMatchObject({ blocks: 2, blocksEvicted: 1 });
    expect(limiter.check("short").allowed).toBe(true);
    expect(limiter.check("long").allowed).toBe(false);
    expect(limiter.check("longer").allowed).toBe(false);
  });

  it("forgets a block with an end before those without", () => {
    const { limiter } = setup(fixedWindow({ limit: 9, windowMs: 1000 }), { blocksMax: 2 });
    for (const key of ["a", "b", "c"]) limiter.block(key, Number.POSITIVE_INFINITY);
    limiter.block("d", 1000);
    limiter.block("e", Number.POSITIVE_INFINITY);
    const blocked = ["a", "b", "c", "d", "e"].filter((key) => !limiter.check(key).allowed);
    expect(blocked.length).toBe(2);
    expect(blocked).toContain("e");
    expect(blocked).not.toContain("d");
  });

  it("is not pushed out of its blocks by a flood of ordinary keys", () => {
    const { limiter } = setup(fixedWindow({ limit: 9, windowMs: 60_000 }), { keysMax: 100 });
    limiter.block("offender", 60_000);
    for (let i = 0; i < 10_000; i++) limiter.check(`random:${i}`);
    expect(limiter.check("offender").allowed).toBe(false);
  });
});

describe("memoryStore and changed numbers", () => {
  const change = (from: Limit, to: Limit, used: number) => {
    const clock = new ManualClock(START_MS);
    const store = memoryStore();
    const before = createLimiter({ limit: from, store, clock, name: "api" });
    before.check("k", { cost: used });
    before.close();
    return createLimiter({ limit: to, store, clock, name: "api" }).peek("k").remaining;
  };

  it.each([
    [
      "a larger bucket",
      tokenBucket({ capacity: 10, refillPerSecond: 1 }),
      tokenBucket({ capacity: 100, refillPerSecond: 7 }),
      4,
      96,
    ],
    [
      "a smaller bucket, clipped",
      tokenBucket({ capacity: 10, refillPerSecond: 1 }),
      tokenBucket({ capacity: 3, refillPerSecond: 1 }),
      8,
      0,
    ],
    [
      "a bucket in another table",
      tokenBucket({ capacity: 10, refillPerSecond: 1 }),
      tokenBucket({ capacity: 10, refillPerSecond: 0.0001 }),
      4,
      6,
    ],
    [
      "a bucket of another layout",
      tokenBucket({ capacity: 10, refillPerSecond: 1 }),
      tokenBucket({ capacity: 10, refillPerSecond: 99_999 }),
      4,
      6,
    ],
    [
      "a longer window",
      fixedWindow({ limit: 10, windowMs: 1000 }),
      fixedWindow({ limit: 20, windowMs: 7_200_000 }),
      4,
      16,
    ],
    [
      "another counter",
      slidingWindowCounter({ limit: 10, windowMs: 1000 }),
      slidingWindowCounter({ limit: 20, windowMs: 5000 }),
      4,
      16,
    ],
    [
      "another log",
      slidingWindowLog({ limit: 10, windowMs: 1000 }),
      slidingWindowLog({ limit: 20, windowMs: 5000 }),
      4,
      16,
    ],
    [
      "another quota",
      quota({ limit: 10, period: "day" }),
      quota({ limit: 20, period: "month" }),
      4,
      16,
    ],
  ])("carries what was used over to %s", (_name, from, to, used, remaining) => {
    expect(change(from, to, used)).toBe(remaining);
  });

  it("starts another algorithm empty", () => {
    const from = tokenBucket({ capacity: 10, refillPerSecond: 1 });
    expect(change(from, fixedWindow({ limit: 10, windowMs: 1000 }), 4)).toBe(10);
  });
});

describe("memoryStore and grants between charge and settlement", () => {
  it("refunds nothing that a reset has already forgotten", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 60_000 }));
    const reservation = limiter.reserve("k", { cost: 10 });
    limiter.reset("k");
    limiter.check("k", { cost: 10 });
    reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(0);
  });

  it("refunds only what an earlier refund has left in use", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 60_000 }));
    const reservation = limiter.reserve("k", { cost: 6 });
    limiter.check("k", { cost: 4 });
    limiter.refund("k", 5);
    limiter.check("k", { cost: 3 });
    reservation.cancel();
    // Had it not been reserved: 4 used, 5 refunded is 0, then 3.
    expect(limiter.peek("k").remaining).toBe(7);
  });

  it("refunds nothing for what a charge that was held briefly has paid for", () => {
    const { clock, store, limiter } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    const counter = {
      scope: "default",
      part: 0,
      limit: tokenBucket({ capacity: 10, refillPerSecond: 1 }),
    };
    const charge = { counter, key: "k", cost: 5, nowMs: clock.now() };
    const { receipts } = store.decide([charge], { hold: "briefly" });
    const reservation = limiter.reserve("k", { cost: 5 });
    expect(reservation.remaining).toBe(0);
    store.settle([{ receipt: receipts[0], kept: 0, nowMs: clock.now() }]);
    // By now the reservation has been paid off by refill, and another spends.
    clock.advance(5_000);
    expect(limiter.check("k", { cost: 5 }).remaining).toBe(5);
    reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(5);
  });

  it("refunds nothing for the oldest of more than receiptsMax receipts outstanding at the same time", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 60_000 }), { receiptsMax: 2 });
    const reservations = [1, 2, 3].map((cost) => limiter.reserve("k", { cost }));
    for (const reservation of reservations) reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(9);
  });

  it("counts only receipts that are out", () => {
    const { limiter } = setup(concurrency({ limit: 3, permitMs: 60_000 }), { receiptsMax: 2 });
    const long = limiter.acquire("k");
    for (let i = 0; i < 5; i++) limiter.acquire("k").release();
    long.release();
    expect(limiter.peek("k").remaining).toBe(3);
  });
});

describe("memoryStore and request ids", () => {
  it("charges a request once that is sent twice, and answers the same", () => {
    const { limiter } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    const first = limiter.check("k", { cost: 3, requestId: "r1" });
    expect(limiter.check("k", { cost: 3, requestId: "r1" })).toEqual(first);
    expect(limiter.peek("k").remaining).toBe(7);
  });

  it("does not record a refusal", () => {
    const { limiter, clock } = setup(tokenBucket({ capacity: 1, refillPerSecond: 1 }));
    limiter.check("k");
    expect(limiter.check("k", { requestId: "r" }).allowed).toBe(false);
    clock.advance(1000);
    expect(limiter.check("k", { requestId: "r" }).allowed).toBe(true);
  });

  it("refuses an id that comes back with another key or cost", () => {
    const { limiter } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    limiter.check("k", { requestId: "r" });
    const code = "SLUICE_REQUEST_ID_REUSED";
    expect(() => limiter.check("other", { requestId: "r" })).toThrow(
      expect.objectContaining({ code }),
    );
    expect(() => limiter.check("k", { cost: 2, requestId: "r" })).toThrow(
      expect.objectContaining({ code }),
    );
    expect(limiter.peek("k").remaining).toBe(9);
  });

  it("refuses an id of a check for a reservation, which would hold nothing", () => {
    const { limiter } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    limiter.check("k", { requestId: "r" });
    const code = "SLUICE_REQUEST_ID_REUSED";
    expect(() => limiter.reserve("k", { requestId: "r" })).toThrow(
      expect.objectContaining({ code }),
    );
  });

  it("forgets an id after idempotencyMs, and the oldest beyond requestsMax", () => {
    const limit = tokenBucket({ capacity: 10, refillPerSecond: 0.001 });
    const { limiter, clock } = setup(limit, { requestsMax: 2, idempotencyMs: 1000 });
    for (const requestId of ["a", "b", "c"]) limiter.check("k", { requestId });
    limiter.check("k", { requestId: "a" });
    expect(limiter.peek("k").remaining).toBe(6);
    limiter.check("k", { requestId: "c" });
    expect(limiter.peek("k").remaining).toBe(6);
    clock.advance(1000);
    limiter.check("k", { requestId: "c" });
    expect(limiter.peek("k").remaining).toBe(5);
  });

  it("decides a cancelled request again", () => {
    const { limiter } = setup(concurrency({ limit: 1, permitMs: 60_000 }));
    limiter.acquire("k", { requestId: "r" }).release();
    expect(limiter.acquire("k").allowed).toBe(true);
    expect(limiter.acquire("k", { requestId: "r" }).allowed).toBe(false);
  });

  it("lets a reservation be settled that was sent again through another limiter", () => {
    const limit = fixedWindow({ limit: 10, windowMs: 60_000 });
    const { store, clock } = setup(limit);
    const [one, other] = [1, 2].map(() => createLimiter({ limit, store, clock, name: "api" }));
    one.reserve("k", { cost: 5, requestId: "r" });
    other.reserve("k", { cost: 5, requestId: "r" }).cancel();
    expect(one.peek("k").remaining).toBe(10);
  });

  it("keeps the ids of two names apart", () => {
    const limit = fixedWindow({ limit: 10, windowMs: 60_000 });
    const { store, clock } = setup(limit);
    for (const name of ["login", "search"]) {
      const limiter = createLimiter({ limit, store, clock, name });
      expect(limiter.check("k", { requestId: "r" }).remaining).toBe(9);
    }
  });

  it("lets a reservation that was sent twice be settled", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 60_000 }));
    limiter.reserve("k", { cost: 5, requestId: "r" });
    limiter.reserve("k", { cost: 5, requestId: "r" }).commit(2);
    expect(limiter.peek("k").remaining).toBe(8);
  });
});

describe("memoryStore under attack", () => {
  const inName = (name: string, algorithm: string) =>
    JSON.stringify(["counter", name, 0, algorithm]);

  it("distinguishes counters under keys that spell out their names", () => {
    const { store, clock } = setup(fixedWindow({ limit: 5, windowMs: 60_000 }));
    const a = createLimiter({
      limit: fixedWindow({ limit: 5, windowMs: 60_000 }),
      store,
      clock,
      name: "A",
    });
    const b = createLimiter({
      limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }),
      store,
      clock,
      name: "B",
    });
    for (let i = 0; i < 10; i++) {
      a.check(inName("A", "fixedWindow"));
      b.check(inName("B", "tokenBucket"));
    }
    expect(a.check(inName("A", "fixedWindow")).allowed).toBe(false);
    expect(b.check(inName("B", "tokenBucket")).allowed).toBe(false);
  });

  it("refunds nothing for a receipt whose numbers have changed", () => {
    const { clock, old, next } = renumbered(
      fixedWindow({ limit: 10, windowMs: 60_000 }),
      fixedWindow({ limit: 10, windowMs: 1000 }),
    );
    const reservation = old.reserve("k", { cost: 10 });
    next.peek("k");
    clock.advance(20_000);
    next.check("k", { cost: 10 });
    reservation.cancel();
    expect(next.check("k").allowed).toBe(false);
  });

  it("leaves the new numbers alone when a reservation of the old ones is committed", () => {
    const { old, next } = renumbered(
      fixedWindow({ limit: 10, windowMs: 60_000 }),
      fixedWindow({ limit: 100, windowMs: 60_000 }),
    );
    const [same, more] = [old.reserve("k"), old.reserve("k")];
    next.check("k", { cost: 98 });
    same.commit(1);
    more.commit(5);
    expect(next.peek("k").remaining).toBe(0);
    expect(next.check("k").allowed).toBe(false);
  });

  it("refunds nothing to a key that was evicted meanwhile", () => {
    const { limiter } = setup(fixedWindow({ limit: 5, windowMs: 60_000 }), { keysMax: 1 });
    const reservation = limiter.reserve("k", { cost: 5 });
    limiter.check("other");
    limiter.check("k", { cost: 5 });
    reservation.cancel();
    expect(limiter.check("k").allowed).toBe(false);
  });

  it("finds the expired entries of every limit when an arena is full", () => {
    const options = { keysMax: 1000, logEntriesMax: 100 };
    const { store, clock, limiter } = setup(
      slidingWindowLog({ limit: 5, windowMs: 1000 }),
      options,
    );
    for (let i = 0; i < 100; i++) limiter.check(`k${i}`);
    clock.advance(3_600_000);
    const limit = slidingWindowLog({ limit: 6, windowMs: 1000 });
    const other = createLimiter({ limit, store, clock, name: "other" });
    const admitted = Array.from({ length: 100 }, (_, i) => other.check(`k${i}`).allowed);
    expect(admitted.filter((allowed) => !allowed).length).toBeLessThan(10);
  });

  it("keeps throttled keys through a flood where windows are aligned by key", () => {
    const limit = fixedWindow({ limit: 10, windowMs: 60_000, align: "key" });
    const { limiter, clock } = setup(limit, { keysMax: 1000 });
    clock.advance(30_000);
    const offenders = Array.from({ length: 200 }, (_, i) => `offender:${i}`);
    for (const key of offenders) exhaust(limiter, key);
    for (let i = 0; i < 20_000; i++) limiter.check(`random:${i}`);
    expect(offenders.filter((key) => limiter.check(key).allowed)).toEqual([]);
  });

  it("carries what was used over to windows that are aligned by key", () => {
    const aligned = fixedWindow({ limit: 1, windowMs: 60_000, align: "key" });
    const { clock, old, next } = renumbered(fixedWindow({ limit: 1, windowMs: 60_000 }), aligned);
    clock.advance(30_000);
    for (let i = 0; i < 500; i++) old.check(`k${i}`);
    const refilled = Array.from({ length: 500 }, (_, i) => next.check(`k${i}`).allowed);
    expect(refilled.filter(Boolean)).toEqual([]);
  });

  it("counts exactly again after commits of any size", () => {
    const { limiter, clock } = setup(slidingWindowLog({ limit: 1, windowMs: 1000 }));
    const reservations = [1, 2].map(() => limiter.reserve("k", { cost: 0 }));
    limiter.check("k");
    for (const reservation of reservations) {
      clock.advance(1);
      reservation.commit(Number.MAX_SAFE_INTEGER);
    }
    clock.advance(1_000_000);
    expect(limiter.check("k").allowed).toBe(true);
    expect(limiter.check("k").allowed).toBe(false);
  });

  it.each([
    tokenBucket({ capacity: 5, refillPerSecond: 1 }),
    fixedWindow({ limit: 5, windowMs: 1000 }),
    slidingWindowCounter({ limit: 5, windowMs: 1000 }),
    slidingWindowLog({ limit: 5, windowMs: 1000 }),
    quota({ limit: 5, period: "day" }),
  ])("changes nothing by a peek at any other time: $algorithm", (limit) => {
    const { limiter } = setup(limit);
    limiter.check("k", { cost: 5 });
    for (const nowMs of [0, START_MS - 86_400_000, START_MS + 86_400_000 * 400]) {
      limiter.peek("k", { nowMs });
      expect(limiter.check("k").allowed).toBe(false);
    }
  });

  it.each([
    ["grows", 7, 60_000],
    ["shrinks", 3, 60_000],
    ["lasts for hours", 5, 7_200_000],
  ])("takes back every permit where a concurrency limit %s meanwhile", (_how, limit, permitMs) => {
    const from = concurrency({ limit: 5, permitMs: 60_000 });
    const { old, next } = renumbered(from, concurrency({ limit, permitMs }));
    const permits = Array.from({ length: 5 }, () => old.acquire("k"));
    const later = next.acquire("k");
    for (const permit of permits) permit.release();
    expect(next.peek("k").remaining).toBe(limit - (later.allowed ? 1 : 0));
    later.release();
    expect(next.peek("k").remaining).toBe(limit);
  });

  it("keeps running work when a concurrency limit shrinks", () => {
    const { old, next } = renumbered(
      concurrency({ limit: 10, permitMs: 60_000 }),
      concurrency({ limit: 5, permitMs: 60_000 }),
    );
    for (let i = 0; i < 10; i++) old.acquire("k");
    expect(next.acquire("k")).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe("memoryStore options", () => {
  it.each([
    { keysMax: 0 },
    { keysMax: 1.5 },
    { keysMax: "many" },
    { permitsMax: -1 },
    { idempotencyMs: Number.NaN },
    { seed: 5 },
    { seed: { low: 1 } },
    null,
  ])("says what was wrong with %j", (options) => {
    expect(() => memoryStore(options as never)).toThrow(
      expect.objectContaining({ code: "SLUICE_OPTION_INVALID" }),
    );
  });

  it("repeats a run exactly under a fixed seed", () => {
    const run = () => {
      const limit = fixedWindow({ limit: 3, windowMs: 60_000 });
      const { limiter, store } = setup(limit, { keysMax: 50, seed: { low: 1, high: 2 } });
      for (let i = 0; i < 5000; i++) limiter.check(`k${(i * 7919) % 200}`);
      return store.stats;
    };
    expect(run()).toEqual(run());
  });

  it("is an error to use after close", () => {
    const { store, limiter } = setup(fixedWindow({ limit: 3, windowMs: 60_000 }));
    limiter.check("k");
    store.close();
    expect(() => limiter.check("k")).toThrow(expect.objectContaining({ code: "SLUICE_CLOSED" }));
    expect(() => limiter.block("k", 1)).toThrow(expect.objectContaining({ code: "SLUICE_CLOSED" }));
  });
});
