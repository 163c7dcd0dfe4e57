import { describe, expect, it } from "vitest";
import { toTest } from "../../../test/conformance-test.js";
import { timesFactor } from "../../../test/traces.js";
import type { Clock } from "../../base/clock.js";
import type { Decision, Verdict } from "../../base/decision.js";
import type { MaybePromise } from "../../base/maybe-promise.js";
import { createLimiter } from "../../limiter/limiter.js";
import type { Limiter } from "../../limiter/limiter-verbs.js";
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
import { SeededRandom } from "../../testing/conformance/random.js";
import { drawLimit } from "../../testing/conformance/random-limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { storeConformance } from "../../testing/store-conformance.js";
import { ForwardingStore } from "../forwarding-store.js";
import { memoryStore } from "../memory/memory-store.js";
import { prelimit } from "../prelimit/prelimit.js";
import type { Charge, Counter, DecideOptions, Outcome, RefundedUnits, Store } from "../store.js";
import { type DenyCacheOptions, denyCache } from "./deny-cache.js";

/** How many random traces each kind of limit gets. */
const TRACES = timesFactor(100);
const START_MS = Date.UTC(2024, 5, 1, 12);
const hourly = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 3_600_000 } });

/** Counts the decisions that reach a memory store, and lets a test stand between. */
class Counting extends ForwardingStore {
  calls = 0;
  readonly peeked: string[] = [];

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    this.calls++;
    return this.answer(super.decide(charges, options));
  }

  override peek(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    this.peeked.push(...charges.map(({ key }) => key));
    return super.peek(charges);
  }

  override decideOne(counter: Counter, key: string, cost: number, nowMs: number, block?: number) {
    this.calls++;
    return this.answer(super.decideOne(counter, key, cost, nowMs, block));
  }

  protected answer<T>(value: MaybePromise<T>): MaybePromise<T> {
    return value;
  }
}

/** Decides immediately and answers when the test says so, as a network might. */
class Slow extends Counting {
  readonly #waiting: (() => void)[] = [];

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.answer(super.refund(charges));
  }

  deliver(count = Number.POSITIVE_INFINITY): void {
    for (const go of this.#waiting.splice(0, count)) go();
  }

  protected override answer<T>(value: MaybePromise<T>): MaybePromise<T> {
    return new Promise((resolve) => this.#waiting.push(() => resolve(value)));
  }
}

class Later extends Counting {
  protected override async answer<T>(value: MaybePromise<T>): Promise<T> {
    return value;
  }
}

function setUp(limit: Limit | readonly Limit[], options: DenyCacheOptions = {}) {
  const clock = new ManualClock(START_MS);
  const inner = new Counting(memoryStore({ keysMax: 10_000 }));
  const store = denyCache(inner, { clock, ...options });
  const limiter = createLimiter({ limit, store, clock });
  const check = (key: string, cost = 1) => limiter.check(key, { cost }) as Decision;
  return { clock, inner, store, limiter, check };
}

describe("a flood of an exhausted key", () => {
  it("reaches the store once a second at most, whichever key it is", () => {
    const { clock, inner, check, store } = setUp(hourly);
    check("key", 10);
    inner.calls = 0;
    let admitted = 0;
    for (let n = 0; n < 100_000; n++) {
      if (check("key").allowed) admitted++;
      if (n % 25_000 === 24_999) clock.advance(1_000);
    }
    expect(admitted).toBe(0);
    expect(inner.calls).toBe(4);
    expect(store.stats).toEqual({ keys: 1, hits: 99_996 });
  });

  it("is refused immediately, also over a store that answers with promises", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Later(memoryStore());
    const limiter = createLimiter({ limit: hourly, store: denyCache(inner, { clock }), clock });
    await limiter.check("key", { cost: 10 });
    await limiter.check("key");
    inner.calls = 0;
    const refused = limiter.check("key");
    expect(refused).not.toBeInstanceOf(Promise);
    expect(refused).toMatchObject({ allowed: false, source: "deny-cache" });
    expect(inner.calls).toBe(0);
  });

  it("of many callers at the same time is answered, and known when the first refusal arrives", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Later(memoryStore());
    const store = denyCache(inner, { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    const seen = await Promise.all(Array.from({ length: 500 }, () => limiter.check("key")));
    expect(seen.filter(({ allowed }) => allowed)).toHaveLength(10);
    inner.calls = 0;
    await limiter.check("key");
    expect(inner.calls).toBe(0);
  });

  it("of an identified key does not touch other keys, names or limits", () => {
    const { check, store, clock } = setUp(hourly);
    check("key", 10);
    check("key");
    expect(check("Key").allowed).toBe(true);
    const other = createLimiter({ name: "other", limit: hourly, store, clock });
    expect(other.check("key")).toMatchObject({ allowed: true });
    const numbers = createLimiter({
      limit: tokenBucket({ capacity: 20, refillPerSecond: 1 }),
      store: asAnotherProcess(store),
      clock,
    });
    expect(numbers.check("key")).toMatchObject({ allowed: true, source: "memory" });
  });
});

describe("peek", () => {
  it("asks the store only about what is not known to be refused", () => {
    const { inner, store, clock, check } = setUp(hourly);
    check("key", 10);
    check("key");
    const charge = (key: string): Charge => {
      const counter: Counter = { scope: "default", part: 0, limit: hourly };
      return { counter, key, cost: 1, nowMs: clock.now() };
    };
    const peek = (...keys: string[]) => store.peek(keys.map(charge)) as readonly Verdict[];
    const asked = inner.peeked;
    expect(peek("key")).toMatchObject([{ allowed: false, remaining: 0, source: "deny-cache" }]);
    expect(peek("a", "key", "b").map(({ allowed }) => allowed)).toEqual([true, false, true]);
    expect(asked).toEqual(["a", "b"]);
    clock.advance(1_000);
    expect(peek("key")).toMatchObject([{ allowed: false, source: "memory" }]);
    // What a look learnt is known to the next check.
    inner.calls = 0;
    expect(check("key")).toMatchObject({ allowed: false, source: "deny-cache" });
    expect(inner.calls).toBe(0);
  });
});

describe("an answer of the cache", () => {
  it("counts down what the store said", () => {
    const { clock, check } = setUp(tokenBucket({ capacity: 10, refillPerSecond: 2 }));
    check("key", 8);
    const first = check("key", 3);
    expect(first).toMatchObject({ retryAfterMs: 500, resetMs: 4_000, source: "memory" });
    clock.advance(200);
    expect(check("key", 3)).toEqual({
      allowed: false,
      limit: 10,
      remaining: 2,
      retryAfterMs: 300,
      resetMs: 3_800,
      delayMs: 0,
      source: "deny-cache",
    });
  });

  it("ends exactly at retryAfterMs, never with a wait of 0", () => {
    const { clock, check } = setUp(tokenBucket({ capacity: 10, refillPerSecond: 2 }));
    check("key", 10);
    check("key");
    clock.advance(499);
    expect(check("key")).toMatchObject({ retryAfterMs: 1, source: "deny-cache" });
    clock.advance(1);
    expect(check("key")).toMatchObject({ allowed: true, source: "memory" });
  });

  it("ends after denyCacheMsMax, however long the wait is", () => {
    const { clock, check, inner } = setUp(hourly, { denyCacheMsMax: 50 });
    check("key", 11);
    clock.advance(49);
    expect(check("key", 11)).toMatchObject({ retryAfterMs: Infinity, source: "deny-cache" });
    clock.advance(1);
    expect(check("key", 11).source).toBe("memory");
    expect(inner.calls).toBe(2);
  });

  it("says nothing about a smaller cost, which then replaces it", () => {
    const { check } = setUp(hourly);
    check("key", 8);
    expect(check("key", 5).source).toBe("memory");
    expect(check("key", 3).source).toBe("memory");
    expect(check("key", 3).source).toBe("deny-cache");
    expect(check("key", 5).source).toBe("deny-cache");
    expect(check("key", 2)).toMatchObject({ allowed: true, source: "memory" });
  });

  it("adds for a larger cost what a bucket needs, and Infinity above the limit", () => {
    const { check } = setUp(tokenBucket({ capacity: 10, refillPerSecond: 2 }));
    check("key", 10);
    check("key", 1);
    expect(check("key", 4)).toMatchObject({ retryAfterMs: 2_000, source: "deny-cache" });
    expect(check("key", 10)).toMatchObject({ retryAfterMs: 5_000, source: "deny-cache" });
    expect(check("key", 11)).toMatchObject({ retryAfterMs: Infinity, source: "deny-cache" });
  });

  it.each([
    ["fixed window", fixedWindow({ limit: 10, windowMs: 60_000 })],
    [
      "fixed window from the first request",
      fixedWindow({ limit: 10, windowMs: 60_000, align: "first" }),
    ],
    ["quota", quota({ limit: 10, period: "day" })],
  ])("has a larger cost wait for the same end (%s)", (_, limit) => {
    const { check } = setUp(limit);
    check("key", 10);
    const { retryAfterMs } = check("key", 1);
    expect(check("key", 4)).toMatchObject({ retryAfterMs, source: "deny-cache" });
    expect(check("key", 11)).toMatchObject({ retryAfterMs: Infinity, source: "deny-cache" });
  });

  it.each([
    ["sliding window counter", slidingWindowCounter({ limit: 10, windowMs: 60_000 })],
    ["sliding window log", slidingWindowLog({ limit: 10, windowMs: 60_000 })],
  ])("leaves a larger cost to the store, and knows both then (%s)", (_, limit) => {
    const { check } = setUp(limit);
    check("key", 10);
    check("key", 1);
    expect(check("key", 4).source).toBe("memory");
    expect(check("key", 4).source).toBe("deny-cache");
    expect(check("key", 1).source).toBe("deny-cache");
    expect(check("key", 11)).toMatchObject({ retryAfterMs: Infinity, source: "deny-cache" });
  });

  it("is not given at a time before the refusal, nor to one that is past it by its own time", () => {
    const { limiter, inner } = setUp(tokenBucket({ capacity: 1, refillPerSecond: 2 }));
    const at = (nowMs: number) => limiter.check("key", { nowMs });
    at(START_MS);
    at(START_MS);
    expect(at(START_MS)).toMatchObject({ source: "deny-cache" });
    expect(at(START_MS - 1)).toMatchObject({ source: "memory" });
    expect(at(START_MS + 600)).toMatchObject({ allowed: true });
    expect(inner.calls).toBe(4);
  });

  it("ends in time also where the limit's own clock stands still", () => {
    let nowMs = START_MS;
    const clock = { now: () => nowMs, wall: () => START_MS };
    const store = denyCache(memoryStore(), { clock });
    const limiter = createLimiter({ limit: quota({ limit: 1, period: "day" }), store, clock });
    limiter.check("key");
    limiter.check("key");
    nowMs += 999;
    expect(limiter.check("key")).toMatchObject({ source: "deny-cache" });
    nowMs += 1;
    expect(limiter.check("key")).toMatchObject({ allowed: false, source: "memory" });
  });

  it("counts from sending: an answer that took long is trusted for less long", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Slow(memoryStore());
    const store = denyCache(inner, { clock });
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 2 });
    const limiter = createLimiter({ limit, store, clock });
    const answers = [limiter.check("key"), limiter.check("key")];
    clock.advance(300);
    inner.deliver();
    await Promise.all(answers);
    expect(limiter.check("key")).toMatchObject({ retryAfterMs: 200, source: "deny-cache" });
    clock.advance(200);
    const retried = limiter.check("key");
    inner.deliver();
    expect(await retried).toMatchObject({ allowed: true });
  });
});

describe("nothing is remembered", () => {
  it.each(["fallback", "lease"] as const)("of a refusal whose source is %s", (source) => {
    const clock = new ManualClock(START_MS);
    class Other extends Counting {
      override decideOne(counter: Counter, key: string, cost: number, nowMs: number) {
        return { ...(super.decideOne(counter, key, cost, nowMs) as Verdict), source };
      }
    }
    const store = denyCache(new Other(memoryStore()), { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    limiter.check("key", { cost: 11 });
    expect(limiter.check("key", { cost: 11 })).toMatchObject({ allowed: false, source });
    expect(store.stats).toEqual({ keys: 0, hits: 0 });
  });

  it("of permits, which come back at any time", async () => {
    const { limiter, inner, store } = setUp(concurrency({ limit: 1, permitMs: 60_000 }));
    const permit = await limiter.acquire("key");
    expect((await limiter.acquire("key")).allowed).toBe(false);
    expect(store.stats.keys).toBe(0);
    await permit.release();
    expect((await limiter.acquire("key")).allowed).toBe(true);
    expect(inner.calls).toBe(3);
  });

  it("of shadow charges, and they are never refused by what is known", () => {
    const { store, clock } = setUp(hourly);
    const counter = { scope: "s", part: 0, limit: hourly };
    const charge = { counter, key: "key", cost: 11, nowMs: clock.now() };
    const shadow = [{ ...charge, shadow: true }];
    expect(store.decide(shadow)).toMatchObject({ allowed: true });
    expect(store.stats.keys).toBe(0);
    expect(store.decide([charge])).toMatchObject({ allowed: false });
    expect(store.stats.keys).toBe(1);
    expect(store.decide(shadow)).toMatchObject({ allowed: true });
  });

  it("of a charge with a caller: where callers are counted separately, others may have room", () => {
    const { store, clock, inner } = setUp(hourly);
    const counter = { scope: "s", part: 0, limit: hourly };
    const charge = { counter, key: "key", cost: 11, nowMs: clock.now() };
    store.decide([{ ...charge, caller: "ada" }]);
    expect(store.stats.keys).toBe(0);
    store.decide([charge]);
    expect(store.stats.keys).toBe(1);
    store.decide([{ ...charge, caller: "ben" }]);
    expect(inner.calls).toBe(3);
  });

  it("of a cost of nothing, even when its key is blocked", async () => {
    const { limiter, check, store } = setUp(hourly);
    await limiter.block("key", 60_000);
    expect(check("key", 0).allowed).toBe(false);
    expect(store.stats.keys).toBe(0);
  });

  it("of a refusal for lack of memory, which may end at any time", () => {
    const clock = new ManualClock(START_MS);
    const inner = memoryStore({ keysMax: 100, logEntriesMax: 16 });
    const store = denyCache(inner, { clock });
    const limiter = createLimiter({
      limit: slidingWindowLog({ limit: 9, windowMs: 60_000 }),
      store,
      clock,
    });
    for (let n = 0; inner.stats.arenaRefusals === 0 && n < 100; n++) limiter.check(`key ${n}`);
    expect(inner.stats.arenaRefusals).toBe(1);
    expect(store.stats.keys).toBe(0);
  });

  it("of a refusal by another limit, such as a coarse one in front of the store", () => {
    const clock = new ManualClock(START_MS);
    const coarse = fixedWindow({ limit: 2, windowMs: 1_000 });
    const store = denyCache(prelimit(memoryStore(), { limit: coarse, clock }), { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    for (let n = 0; n < 5; n++) limiter.check("key");
    expect(limiter.check("key")).toMatchObject({ allowed: false, limit: 2, source: "memory" });
    expect(store.stats).toEqual({ keys: 0, hits: 0 });
  });

  it("of a call that fails, and its error is the caller's", async () => {
    const clock = new ManualClock(START_MS);
    class Failing extends ForwardingStore {
      override decide(): Promise<Outcome> {
        return Promise.reject(new Error("cut"));
      }
      override decideOne(): Promise<Verdict> {
        return Promise.reject(new Error("cut"));
      }
    }
    const store = denyCache(new Failing(memoryStore()), { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    await expect(limiter.check("key")).rejects.toThrow("cut");
    await expect(limiter.check("key", { requestId: "1" })).rejects.toThrow("cut");
    expect(store.stats.keys).toBe(0);
  });
});

describe("what this process changes is seen immediately", () => {
  const exhausted = () => {
    const stand = setUp(hourly);
    stand.check("key", 10);
    stand.check("key");
    expect(stand.check("key").source).toBe("deny-cache");
    return stand;
  };

  it("after a refund", async () => {
    const { limiter, check } = exhausted();
    await limiter.refund("key", 1);
    expect(check("key").allowed).toBe(true);
  });

  it("after a reset", async () => {
    const { limiter, check } = exhausted();
    await limiter.reset("key");
    expect(check("key").allowed).toBe(true);
  });

  it("after a block, with its wait, and after the unblock, under every limit of the scope", async () => {
    const limits = [hourly, fixedWindow({ limit: 10, windowMs: 3_600_000 })];
    const { limiter, check } = setUp(limits);
    check("key", 11);
    await limiter.block("key", 700);
    expect(check("key")).toMatchObject({ retryAfterMs: 700, source: "memory" });
    expect(check("key")).toMatchObject({ retryAfterMs: 700, source: "deny-cache" });
    await limiter.unblock("key");
    expect(check("key")).toMatchObject({ allowed: true, remaining: 9 });
  });

  it("after a reservation is cancelled, or committed for less or for more", async () => {
    const { limiter, check } = setUp(hourly);
    for (const [kept, left] of [
      [0, 10],
      [4, 6],
      [12, 0],
    ]) {
      await limiter.reset("key");
      const reservation = await limiter.reserve("key", { cost: 10 });
      check("key", 11);
      await reservation.commit(kept);
      expect(check("key", 11)).toMatchObject({ remaining: left, source: "memory" });
    }
  });

  it("after an admission or a debit, which make others wait longer", async () => {
    const { check, store, clock } = setUp(hourly);
    check("key", 8);
    check("key", 3);
    check("key", 1);
    expect(check("key", 3)).toMatchObject({ retryAfterMs: 7_200_000, source: "memory" });
    const counter = { scope: "default", part: 0, limit: hourly };
    await store.debit([{ counter, key: "key", cost: 1, nowMs: clock.now() }]);
    expect(check("key", 3)).toMatchObject({ retryAfterMs: 10_800_000, source: "memory" });
  });

  it("even if a refusal from before it arrives after it", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Slow(memoryStore());
    const store = denyCache(inner, { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    const charge = {
      counter: { scope: "default", part: 0, limit: hourly },
      key: "key",
      cost: 10,
      nowMs: START_MS,
    };
    await store.debit([charge]);
    const refused = limiter.check("key");
    const refunded = limiter.refund("key", 1);
    inner.deliver();
    expect(await refused).toMatchObject({ allowed: false });
    await refunded;
    const after = limiter.check("key");
    inner.deliver();
    expect(await after).toMatchObject({ allowed: true });
  });

  it("even if others arrive before the refusal that is older", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Slow(memoryStore());
    const store = denyCache(inner, { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    const [other, refused] = ["other", "key"].map((key) => limiter.check(key, { cost: 11 }));
    await limiter.reset("key");
    inner.deliver(1);
    await other;
    // What is done after an answer is done by now, whatever turns of the queue it takes.
    for (let turn = 0; turn < 10; turn++) await undefined;
    inner.deliver();
    await refused;
    expect(store.stats.keys).toBe(1);
  });

  it("even if it takes its time, and a refusal arrives while it is under way", async () => {
    const clock = new ManualClock(START_MS);
    let go = () => {};
    const signal = new Promise<void>((resolve) => {
      go = resolve;
    });
    class LateRefund extends ForwardingStore {
      override refund(charges: readonly Charge[]): Promise<RefundedUnits> {
        return signal.then(() => super.refund(charges));
      }
    }
    const store = denyCache(new LateRefund(memoryStore()), { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    limiter.check("key", { cost: 10 });
    const refunded = limiter.refund("key", 1);
    expect(limiter.check("key")).toMatchObject({ allowed: false });
    go();
    await refunded;
    expect(limiter.check("key")).toMatchObject({ allowed: true });
  });

  it("even if so many keys were cleared meanwhile that they are not distinguished", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Slow(memoryStore());
    const store = denyCache(inner, { clock });
    const limiter = createLimiter({ limit: hourly, store, clock });
    const refused = limiter.check("key", { cost: 11 });
    await limiter.reset("key");
    for (let n = 0; n < 2_000; n++) await limiter.reset(`other ${n}`);
    inner.deliver();
    await refused;
    expect(store.stats.keys).toBe(0);
    const again = limiter.check("key", { cost: 11 });
    inner.deliver();
    await again;
    expect(store.stats.keys).toBe(1);
  });

  it("and nothing is answered after close", async () => {
    const { store, check } = exhausted();
    await store.close();
    expect(() => check("key")).toThrow(/closed/);
  });

  it("not even a refusal that arrives after close is kept", async () => {
    const clock = new ManualClock(START_MS);
    const inner = new Slow(memoryStore());
    const store = denyCache(inner, { clock });
    const refused = createLimiter({ limit: hourly, store, clock }).check("key", { cost: 11 });
    await store.close();
    inner.deliver();
    expect(await refused).toMatchObject({ allowed: false });
    expect(store.stats.keys).toBe(0);
  });
});

describe("a request of several charges", () => {
  const limits = [hourly, fixedWindow({ limit: 2, windowMs: 3_600_000 })];

  it("is refused as a whole if one is known to be, with nothing known of the others", () => {
    const { check, store, clock, inner } = setUp(limits);
    check("key", 2);
    check("key");
    inner.calls = 0;
    const charges = limits.map((limit, part) => ({
      counter: { scope: "default", part, limit },
      key: "key",
      cost: 1,
      nowMs: clock.now(),
    }));
    const known = { limit: 2, remaining: 0, retryAfterMs: 3_600_000, resetMs: 3_600_000 };
    const unknown = { limit: 10, remaining: 0, retryAfterMs: 0, resetMs: 0 };
    expect(store.decide(charges, { hold: true })).toEqual({
      allowed: false,
      verdicts: [
        { allowed: true, ...unknown, delayMs: 0, source: "deny-cache" },
        { allowed: false, ...known, delayMs: 0, source: "deny-cache" },
      ],
      receipts: [],
    });
    expect(inner.calls).toBe(0);
  });

  it("is known by the limit that refused, in whatever order they come", () => {
    const { check } = setUp(limits.toReversed());
    check("key", 2);
    expect(check("key").source).toBe("memory");
    expect(check("key").source).toBe("deny-cache");
  });

  it("distinguishes parts that have the same limit", () => {
    const { store, clock } = setUp(hourly);
    const [one, two] = [0, 1].map((part) => ({ scope: "default", part, limit: hourly }));
    store.decideOne(one, "key", 10, clock.now());
    expect(store.decideOne(one, "key", 1, clock.now())).toMatchObject({ allowed: false });
    expect(store.decideOne(two, "key", 1, clock.now())).toMatchObject({ allowed: true });
  });

  it("that charges one counter twice is known by the cost of both", () => {
    const { store, clock, inner } = setUp(hourly);
    const counter = { scope: "default", part: 0, limit: hourly };
    const charge = { counter, key: "key", cost: 6, nowMs: clock.now() };
    expect(store.decide([charge, charge])).toMatchObject({ allowed: false });
    const again = store.decide([charge, charge]) as Outcome;
    expect(again.verdicts.map(({ source }) => source)).toEqual(["deny-cache", "deny-cache"]);
    expect(inner.calls).toBe(1);
    expect(store.decide([charge])).toMatchObject({ allowed: true });
  });

  it("with a request id goes to the store, which knows whether it was admitted before", async () => {
    const { limiter, check } = setUp(hourly);
    const admitted = await limiter.check("key", { cost: 10, requestId: "1" });
    check("key", 10);
    expect(check("key", 10).source).toBe("deny-cache");
    expect(await limiter.check("key", { cost: 10, requestId: "1" })).toEqual(admitted);
  });
});

describe("memory", () => {
  it("holds keysMax keys, and the oldest goes first", () => {
    const { check, store } = setUp(hourly, { keysMax: 100 });
    for (let n = 0; n < 150; n++) check(`key ${n}`, 11);
    expect(store.stats.keys).toBe(100);
    expect(check("key 50", 11).source).toBe("deny-cache");
    expect(check("key 49", 11).source).toBe("memory");
    expect(check("key 50", 11).source).toBe("memory");
  });

  it("counts a key as young again when it is refused again", () => {
    const { check, clock } = setUp(hourly, { keysMax: 2 });
    check("a", 11);
    check("b", 11);
    clock.advance(1_000);
    for (const key of ["a", "c"]) check(key, 11);
    expect(check("a", 11).source).toBe("deny-cache");
  });

  it("holds a few refusals of one key, however many costs were tried", () => {
    const { check, store } = setUp(slidingWindowLog({ limit: 100, windowMs: 60_000 }));
    check("key", 100);
    for (let cost = 1; cost <= 50; cost++) check("key", cost);
    expect(store.stats.keys).toBe(1);
    expect(check("key", 43).source).toBe("deny-cache");
    expect(check("key", 42).source).toBe("memory");
  });
});

describe("options", () => {
  it.each<[unknown, RegExp]>([
    [{ keysMax: 0 }, /denyCache: keysMax must be a whole number from 1 to 10000000, got 0/],
    [{ denyCacheMsMax: 1_001 }, /denyCacheMsMax must be a whole number from 1 to 1000, got 1001/],
    [{ denyCacheMsMax: "1s" }, /got "1s"/],
    [{ clock: 5 }, /clock must have a function now\(\), and optionally wall\(\), got 5/],
    [{ clock: null }, /clock must have a function now\(\), and optionally wall\(\), got null/],
    [{ ttl: 5 }, /unknown option "ttl"/],
  ])("%j are refused by an error that says what was seen", (options, message) => {
    expect(() => denyCache(memoryStore(), options as DenyCacheOptions)).toThrow(message);
  });
});

const { concurrency: _, ...rates } = drawLimit;

// In one process the cache is notified of every change, so it may never answer otherwise than the store.
describe("over random traces, with and without the cache", () => {
  const several = (random: SeededRandom) => [
    random.pick(Object.values(rates))(random),
    rates.tokenBucket(random),
  ];

  it.each([
    ...Object.entries(rates).map(
      ([name, draw]) => [name, (random: SeededRandom) => [draw(random)]] as const,
    ),
    ["several limits together", several] as const,
  ])("every refusal is one of the store, and its wait is enough (%s)", (name, draw) => {
    let hits = 0;
    for (let number = 0; number < TRACES; number++) {
      hits += new Twins(new SeededRandom(`deny-cache/${name}/${number}`), draw).run();
    }
    expect(hits).toBeGreaterThan(TRACES);
  });
});

/** The same requests on a store with a cache in front and on one without. */
class Twins {
  readonly #random: SeededRandom;
  readonly #limits: readonly Limit[];
  readonly #clock = new ManualClock(START_MS);
  readonly #cache = denyCache(memoryStore({ keysMax: 100 }), { clock: this.#clock });
  readonly #cached: Limiter<false>;
  readonly #plain: Limiter<false>;
  #waitMs = 0;

  constructor(random: SeededRandom, draw: (random: SeededRandom) => readonly Limit[]) {
    this.#random = random;
    this.#limits = draw(random);
    const [limit, clock] = [this.#limits, this.#clock];
    const plain: Store = memoryStore({ keysMax: 100 });
    this.#cached = createLimiter({ limit, store: this.#cache, clock });
    this.#plain = createLimiter({ limit, store: plain, clock });
  }

  /** How often the cache answered. */
  run(): number {
    for (let step = 0; step < 60; step++) {
      this.#clock.advance(this.#drawPauseMs());
      const key = this.#random.pick(["a", "b"]);
      const verb = this.#random.between(0, 40);
      if (verb === 0) this.#onBoth((limiter) => limiter.reset(key));
      else if (verb === 1) this.#onBoth((limiter) => limiter.refund(key, 1));
      else if (verb === 2) this.#onBoth((limiter) => limiter.block(key, 700));
      else if (verb === 3) this.#onBoth((limiter) => limiter.unblock(key));
      else this.#check(key, this.#drawCost());
    }
    return this.#cache.stats.hits;
  }

  #check(key: string, cost: number): void {
    const seen = this.#cached.check(key, { cost }) as Decision;
    const expected = this.#plain.check(key, { cost }) as Decision;
    this.#waitMs = Math.min(expected.retryAfterMs, 10_000_000_000);
    if (seen.source !== "deny-cache") {
      expect(seen).toEqual(expected);
      return;
    }
    expect(expected.allowed).toBe(false);
    // Of several limits the cache may know one that refuses and not the one that refuses longest.
    if (this.#limits.length > 1) return;
    expect(seen.resetMs).toBe(expected.resetMs);
    expect(seen.remaining).toBeLessThanOrEqual(expected.remaining);
    expect(seen.retryAfterMs).toBeGreaterThanOrEqual(expected.retryAfterMs);
    expect(seen.retryAfterMs).toBeLessThanOrEqual(expected.retryAfterMs + 1);
  }

  #onBoth(verb: (limiter: Limiter<false>) => unknown): void {
    verb(this.#cached);
    verb(this.#plain);
  }

  #drawCost(): number {
    const units = Math.min(...this.#limits.map(({ capacity: limit }) => limit));
    const random = this.#random;
    return random.pick([1, 1, random.between(1, units), Math.ceil(units / 2), units, units + 1]);
  }

  #drawPauseMs(): number {
    const waitMs = this.#waitMs;
    const random = this.#random;
    return random.pick([
      0,
      0,
      0,
      0,
      1,
      100,
      999,
      random.between(0, waitMs),
      waitMs,
      Math.max(0, waitMs - 1),
    ]);
  }
}

describe("store conformance", () => {
  // These compare `remaining`, which the cache shows as it was; the traces above stand in for them.
  const reason = "remaining is as last seen, and a larger cost may wait a millisecond too long";
  const traces = "random traces are answered as the pure functions answer them";
  const stepping = "random traces on a clock that steps back are answered as by the pure functions";
  const tables = "the step tables hold";
  const skipped = [
    ...[...Object.keys(rates), "several limits together"].flatMap((title) => [
      `${traces}: ${title}`,
      `${stepping}: ${title}`,
    ]),
    `${tables}: a token bucket counts to the millisecond in the year 2100`,
    `${tables}: a meter of 3 per second is exact where 1/rate is not a whole millisecond`,
    `${tables}: a sliding counter rounds the weighted part up: nine tenths of a unit is none`,
    `${tables}: a sliding counter waits for this window, for the next, or for the one after`,
    `${tables}: a sliding log waits for as many old entries as a cost needs`,
    `${tables}: entries of a sliding log of the same millisecond leave together`,
  ];
  const skip = Object.fromEntries(skipped.map((name) => [name, reason]));
  describe("over a memory store", () => {
    const createStore = (clock: Clock) => denyCache(memoryStore({ keysMax: 10_000 }), { clock });
    const cases = storeConformance({ createStore, skip, traces: 100 });
    for (const each of cases) it(each.name, toTest(each));
  });

  describe("over a store that answers later", () => {
    const createStore = (clock: Clock) =>
      denyCache(new Later(memoryStore({ keysMax: 10_000 })), { clock });
    const cases = storeConformance({ createStore, skip, traces: 20 });
    for (const each of cases) it(each.name, toTest(each));
  });
});
