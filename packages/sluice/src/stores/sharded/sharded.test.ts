import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../base/decision.js";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { storeConformance } from "../../testing/store-conformance.js";
import { ForwardingStore } from "../forwarding-store.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, CounterStatus, DecideOptions } from "../store.js";
import { type ShardedOptions, sharded } from "./sharded.js";
import { splitLimit } from "./split-limit.js";

const limit = fixedWindow({ limit: 100, windowMs: 3_600_000 });
const counter: Counter = { scope: "test", part: 0, limit };
const nowMs = Date.UTC(2024, 5, 1, 12);

function charge(cost: number, caller?: string, key = "key"): Charge {
  const shared = { counter, key, cost, nowMs };
  return caller === undefined ? shared : { ...shared, caller };
}

/** Remembers under which keys it was asked. */
class Seeing extends ForwardingStore {
  readonly keys: string[] = [];

  override decide(charges: readonly Charge[], options?: DecideOptions) {
    this.keys.push(...charges.map(({ key }) => key));
    return super.decide(charges, options);
  }
}

function make(shards: number) {
  const inner = new Seeing(memoryStore({ keysMax: 10_000 }));
  const store = sharded(inner, { shards });
  return {
    inner,
    store,
    take: (cost: number, caller?: string) =>
      (store.decide([charge(cost, caller)]) as { allowed: boolean }).allowed,
    left: (caller?: string) => (store.peek([charge(0, caller)]) as Verdict[])[0].remaining,
  };
}

describe("a store of one shard under the conformance kit", () => {
  const createStore = () => sharded(memoryStore({ keysMax: 10_000 }), { shards: 1 });
  for (const { name, run } of storeConformance({ createStore, traces: 30 })) it(name, run);
});

describe("a split limit", () => {
  const makers: [string, (units: number) => Limit][] = [
    ["token bucket", (n) => tokenBucket({ capacity: n, refill: { amount: 7, everyMs: 13_000 } })],
    ["leaky bucket", (n) => leakyBucket({ ratePerSecond: 0.7, queueSize: n - 1, mode: "meter" })],
    ["fixed window", (n) => fixedWindow({ limit: n, windowMs: 1_000 })],
    ["sliding counter", (n) => slidingWindowCounter({ limit: n, windowMs: 1_000 })],
    ["sliding log", (n) => slidingWindowLog({ limit: n, windowMs: 1_000 })],
    ["quota", (n) => quota({ limit: n, period: "month" })],
    ["concurrency limit", (n) => concurrency({ limit: n, permitMs: 1_000 })],
  ];

  it.each(makers)(
    "%s: the parts add up to exactly its units, and differ by one",
    (_, makeLimit) => {
      const numbers = fc.tuple(
        fc.integer({ min: 1, max: 1_024 }),
        fc.integer({ min: 0, max: 2 ** 33 }),
      );
      fc.assert(
        fc.property(numbers, ([shards, more]) => {
          const parts = splitLimit(makeLimit(shards + more), shards).map((part) => part.capacity);
          expect(parts.length).toBe(shards);
          expect(parts.reduce((total, n) => total + n, 0)).toBe(shards + more);
          expect(parts[0] - parts[shards - 1]).toBeLessThanOrEqual(1);
          expect(parts).toEqual([...parts].sort((a, b) => b - a));
        }),
        { numRuns: 50 },
      );
    },
  );

  it.each([
    tokenBucket({ capacity: 100, refill: { amount: 10, everyMs: 1_000 } }),
    tokenBucket({ capacity: 100, refill: { amount: 12, everyMs: 1_000 } }),
    tokenBucket({ capacity: 100, refill: { amount: 1, everyMs: 366 * 86_400_000 } }),
    leakyBucket({ ratePerSecond: 10, queueSize: 99 }),
  ])("$algorithm: each part has an even part of the rate", (bucket) => {
    const perMs = (part: Limit) => ("ticksPerMs" in part ? part.ticksPerMs / part.ticksPerUnit : 0);
    for (const part of splitLimit(bucket, 6))
      expect(perMs(part) * 6).toBeCloseTo(perMs(bucket), 12);
  });

  it("keeps what is not counted in units, and is itself when there is one shard", () => {
    const [part] = splitLimit(fixedWindow({ limit: 10, windowMs: 7_000 }), 3);
    expect(part).toMatchObject({ capacity: 4, windowMs: 7_000, align: "epoch" });
    expect(splitLimit(limit, 1)).toEqual([limit]);
  });

  it("with fewer units than shards is an error that says so", () => {
    const store = sharded(memoryStore(), { shards: 8 });
    const small = createLimiter({ limit: fixedWindow({ limit: 7, windowMs: 1_000 }), store });
    expect(() => small.check("key")).toThrow(
      "7 units of a fixedWindow can't be split into 8 shards",
    );
  });
});

describe("requests", () => {
  it("without a caller take turns: all units are admitted, and no more", () => {
    const { store, left } = make(8);
    let admitted = 0;
    for (let n = 0; n < 300; n++) {
      const verdict = store.decideOne(counter, "key", 1, nowMs) as Verdict;
      if (verdict.allowed) admitted++;
    }
    expect([admitted, left()]).toEqual([100, 0]);
  });

  it("of random callers and costs never get more than the limit", () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = new SeededRandom(`callers ${seed}`);
      const { take, left } = make(random.between(1, 16));
      let admitted = 0;
      for (let n = 0; n < 300; n++) {
        const cost = random.between(0, 4);
        const caller = random.chance(0.8) ? `caller ${random.between(0, 40)}` : undefined;
        if (take(cost, caller)) admitted += cost;
      }
      expect(admitted).toBeLessThanOrEqual(100);
      expect(left()).toBe(100 - admitted);
    }
  });

  it("of one caller meet one shard, the same in every process", () => {
    const [a, b] = [make(8), make(8)];
    for (let n = 0; n < 5; n++) a.take(1, "caller 1");
    b.take(1);
    b.take(1, "caller 1");
    expect(new Set(a.inner.keys)).toEqual(new Set([b.inner.keys[1]]));
    expect(a.inner.keys[0]).toMatch(/^key~[0-7]\/8$/);
    const shard = Number(a.inner.keys[0].slice(4, 5));
    expect(a.left("caller 1")).toBe((shard < 4 ? 13 : 12) - 5);
  });

  it("of many callers are spread evenly", () => {
    const { inner, take } = make(8);
    for (let n = 0; n < 8_000; n++) take(0, `user:${n}`);
    const counts = new Map<string, number>();
    for (const key of inner.keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    expect(counts.size).toBe(8);
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(Math.max(...counts.values())).toBeLessThan(1_150);
  });

  it("with several charges and no caller go to one shard together", () => {
    const { inner, store } = make(8);
    store.decide([charge(1), charge(1, undefined, "other")]);
    expect(inner.keys).toEqual(["key~0/8", "other~0/8"]);
  });

  it("with an id and no caller count once", () => {
    const { store, left } = make(8);
    for (let n = 0; n < 9; n++) store.decide([charge(3)], { requestId: "r1" });
    expect(left()).toBe(97);
  });

  it("of different keys never share a counter, whatever the keys look like", () => {
    const nasty = ["key", "key~0/8", "key~0/8~0/8", "key~1/8", "~0/8", "~"];
    const { store } = make(8);
    for (const [n, key] of nasty.entries()) {
      for (let turn = 0; turn < 8; turn++) store.decide([charge(n, `c${turn}`, key)]);
    }
    for (const [n, key] of nasty.entries()) {
      const [{ remaining }] = store.peek([charge(0, undefined, key)]) as Verdict[];
      expect(remaining).toBeGreaterThanOrEqual(100 - 8 * n);
      expect(n === 0 ? remaining : remaining < 100).toBe(n === 0 ? 100 : true);
    }
  });
});

describe("verbs", () => {
  it("peek without a caller adds up, and is allowed if any shard would admit", () => {
    const { store, take } = make(4);
    for (let n = 0; n < 4; n++) take(20);
    take(5);
    const peek = (cost: number) => (store.peek([charge(cost)]) as Verdict[])[0];
    expect(peek(5)).toMatchObject({ allowed: true, limit: 100, remaining: 15, retryAfterMs: 0 });
    expect(peek(6)).toMatchObject({ allowed: false, limit: 100, remaining: 15 });
    expect(peek(26).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
  });

  it("refund without a caller returns units where most is used, all of them", () => {
    const { inner, store, take, left } = make(4);
    for (const cost of [3, 25, 10, 0]) take(cost);
    store.refund([charge(30)]);
    expect(left()).toBe(92);
    const used = [0, 1, 2, 3].map((i) => {
      const part = { ...charge(0), counter: { ...counter, limit: splitLimit(limit, 4)[i] } };
      const [status] = inner.debit([{ ...part, key: `key~${i}/4` }]) as CounterStatus[];
      return Math.round(status.used);
    });
    expect(used).toEqual([3, 0, 5, 0]);
    store.refund([charge(1_000)]);
    expect(left()).toBe(100);
  });

  it("with a caller act on the caller's shard alone", () => {
    const { store, take, left } = make(4);
    for (let n = 0; n < 4; n++) take(20);
    store.refund([charge(5, "caller")]);
    expect([left("caller"), left()]).toEqual([10, 25]);
    store.reset([charge(0, "caller")]);
    expect([left("caller"), left()]).toEqual([25, 40]);
  });

  it("reset, block and unblock without a caller reach every shard", async () => {
    const { store, take, left } = make(4);
    for (let n = 0; n < 4; n++) take(20);
    store.reset([charge(0)]);
    expect(left()).toBe(100);
    await store.block("test", "key", { untilMs: nowMs + 1_000, nowMs });
    for (let n = 0; n < 4; n++) expect(take(1)).toBe(false);
    expect((store.peek([charge(1)]) as Verdict[])[0]).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 1_000,
    });
    await store.unblock("test", "key");
    for (let n = 0; n < 4; n++) expect(take(1)).toBe(true);
  });

  it("debit without a caller charges one shard and reports all", () => {
    const { store, left } = make(4);
    for (let n = 0; n < 6; n++) store.debit([charge(3)]);
    const [status] = store.debit([charge(0)]) as CounterStatus[];
    expect(status).toMatchObject({ limit: 100, remaining: 82, allowed: true });
    expect(status.used).toBeCloseTo(18, 9);
    const [own] = store.debit([charge(0, "caller")]) as CounterStatus[];
    expect(own).toMatchObject({ limit: 25, remaining: left("caller") });
  });

  it("a reservation is settled in the shard that it was taken from", async () => {
    const store = sharded(memoryStore(), { shards: 4 });
    const limiter = createLimiter({ limit, store, clock: new ManualClock(nowMs) });
    const reservations = [];
    for (let n = 0; n < 4; n++) reservations.push(await limiter.reserve("key", { cost: 20 }));
    for (const reservation of reservations) await reservation.commit(5);
    expect(await limiter.peek("key", { cost: 20 })).toMatchObject({ allowed: true, remaining: 80 });
  });

  it("wait for a store that answers later", async () => {
    class Later extends ForwardingStore {
      #calls = 0;
      override async block(scope: string, key: string, until: { untilMs: number; nowMs: number }) {
        // Each call takes longer than the one before.
        this.#calls++;
        for (let turns = this.#calls * 5; turns > 0; turns--) await Promise.resolve();
        return super.block(scope, key, until);
      }
      override async debit(charges: readonly Charge[]) {
        return super.debit(charges);
      }
    }
    const store = sharded(new Later(memoryStore()), { shards: 4 });
    for (let n = 0; n < 4; n++) store.decide([charge(20)]);
    await store.refund([charge(80)]);
    expect(((await store.peek([charge(0)])) as Verdict[])[0].remaining).toBe(100);
    await store.block("test", "key", { untilMs: nowMs + 1_000, nowMs });
    for (let n = 0; n < 4; n++) expect(store.decide([charge(1)])).toMatchObject({ allowed: false });
  });
});

it.each([
  [{ shards: 0 }, "shards must be a whole number from 1 to 1024, got 0"],
  [{ shards: 1_025 }, "got 1025"],
  [{ shards: "4" }, 'got "4"'],
  [{}, "shards is missing; it must be a whole number from 1 to 1024"],
  [undefined, "needs an object of options, got undefined"],
  [{ shards: 2, nodes: 2 }, 'unknown option "nodes"'],
])("refuses the options %j", (options, seen) => {
  expect(() => sharded(memoryStore(), options as unknown as ShardedOptions)).toThrow(seen);
});
