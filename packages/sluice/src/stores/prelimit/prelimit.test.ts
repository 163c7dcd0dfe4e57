import { describe, expect, it } from "vitest";
import type { Clock } from "../../base/clock.js";
import type { Decision } from "../../base/decision.js";
import { SluiceError } from "../../base/errors.js";
import type { MaybePromise } from "../../base/maybe-promise.js";
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
import { asAnotherProcess } from "../../testing/another-process.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { storeConformance } from "../../testing/store-conformance.js";
import { ForwardingStore } from "../forwarding-store.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, DecideOptions, Outcome } from "../store.js";
import { type PrelimitOptions, prelimit } from "./prelimit.js";

const START_MS = Date.UTC(2024, 5, 1, 12);
const fine = tokenBucket({ capacity: 5, refill: { amount: 1, everyMs: 3_600_000 } });
const coarse = fixedWindow({ limit: 20, windowMs: 1_000 });
const noLimit = fixedWindow({ limit: 2 ** 40, windowMs: 1 });

/** Counts the decisions that reach a memory store. */
class Counting extends ForwardingStore {
  calls = 0;

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    this.calls++;
    return super.decide(charges, options);
  }

  override decideOne(counter: Counter, key: string, cost: number, nowMs: number, block?: number) {
    this.calls++;
    return super.decideOne(counter, key, cost, nowMs, block);
  }
}

function setUp(options: Partial<PrelimitOptions> = {}, limit: Limit | readonly Limit[] = fine) {
  const clock = new ManualClock(START_MS);
  const inner = new Counting(memoryStore({ keysMax: 10_000 }));
  const store = prelimit(inner, { limit: coarse, clock, ...options });
  const limiter = createLimiter({ limit, store, clock });
  const check = (key: string, cost = 1) => limiter.check(key, { cost }) as Decision;
  return { clock, inner, store, limiter, check };
}

describe("a flood", () => {
  it("is stopped by a rate as by the limit that it stands for", () => {
    const { clock, inner, check } = setUp({ limit: "20/second" });
    for (let i = 0; i < 100; i++) check("key");
    expect(inner.calls).toBe(20);
    expect(check("key")).toMatchObject({ allowed: false });
    expect(inner.calls).toBe(20);
    clock.advance(2_000);
    check("key");
    expect(inner.calls).toBe(21);
  });

  it.each<[string, Limit, number]>([
    ["token bucket", tokenBucket({ capacity: 20, refillPerSecond: 20 }), 20 + 20 * 10],
    [
      "leaky bucket that meters",
      leakyBucket({ ratePerSecond: 20, queueSize: 19, mode: "meter" }),
      20 + 20 * 10,
    ],
    ["fixed window", coarse, 20 * 10],
    ["sliding window counter", slidingWindowCounter({ limit: 20, windowMs: 1_000 }), 20 * 11],
    ["sliding window log", slidingWindowLog({ limit: 20, windowMs: 1_000 }), 20 * 10],
    ["quota", quota({ limit: 20, period: "day" }), 20],
  ])(
    "of 100,000 in ten seconds reaches the store as often as the coarse limit says (%s)",
    (_, limit, most) => {
      const { clock, inner, check } = setUp({ limit });
      for (let n = 0; n < 100_000; n++) {
        check("key", 1 + (n % 7));
        if (n % 10 === 9) clock.advance(1);
      }
      expect(inner.calls).toBeLessThanOrEqual(most);
      expect(inner.calls).toBeGreaterThanOrEqual(Math.min(most, 20 * 5));
    },
  );

  it("reaches it in no window more often than the coarse limit", () => {
    const { clock, inner, check } = setUp();
    for (let window = 0; window < 5; window++) {
      inner.calls = 0;
      for (let n = 0; n < 20_000; n++) check("key");
      expect(inner.calls).toBe(20);
      clock.advance(1_000);
    }
  });

  it("of one key lets other keys and other limiters pass", () => {
    const { check, store, clock } = setUp();
    for (let n = 0; n < 1_000; n++) check("key");
    expect(check("other").allowed).toBe(true);
    const limiter = createLimiter({ name: "other", limit: fine, store, clock });
    expect(limiter.check("key")).toMatchObject({ allowed: true });
  });

  it("of ever new keys is absorbed where all keys of a limiter count together, and no other's", () => {
    const { check, inner, store, clock } = setUp({ by: "scope" });
    for (let n = 0; n < 10_000; n++) check(`key ${n}`);
    expect(inner.calls).toBe(20);
    const limiter = createLimiter({ name: "other", limit: fine, store, clock });
    expect(limiter.check("key")).toMatchObject({ allowed: true });
  });

  it("of ever new scopes does not make a scope forget what it counted", () => {
    const { check, inner, store, clock } = setUp();
    for (let n = 0; n < 20; n++) check("key");
    for (let n = 0; n < 3_000; n++) {
      store.decideOne({ scope: `scope ${n}`, part: 0, limit: fine }, "key", 1, clock.now());
    }
    inner.calls = 0;
    expect(check("key")).toMatchObject({ allowed: false, limit: 20 });
    expect(inner.calls).toBe(0);
  });
});

describe("an attempt", () => {
  it("beyond the coarse limit is refused immediately, with the coarse limit's numbers", () => {
    const { clock, check } = setUp();
    clock.advance(400);
    for (let n = 0; n < 20; n++) check("key");
    expect(check("key", 3)).toEqual({
      allowed: false,
      limit: 20,
      remaining: 0,
      retryAfterMs: 600,
      resetMs: 600,
      delayMs: 0,
      source: "memory",
    });
    clock.advance(600);
    expect(check("key")).toMatchObject({ limit: 5 });
  });

  it("costs nothing there when it is refused here", () => {
    const { check, clock } = setUp({}, tokenBucket({ capacity: 100, refillPerSecond: 1 }));
    for (let n = 0; n < 30; n++) check("key");
    clock.advance(1_000);
    expect(check("key").remaining).toBe(100 - 20 + 1 - 1);
  });

  it("counts one, whatever it costs, and also if the store refuses it", () => {
    const { check } = setUp();
    for (let n = 0; n < 20; n++) check("key", n % 2 === 0 ? 1_000 : 0);
    expect(check("key")).toMatchObject({ allowed: false, limit: 20 });
  });

  it("counts also with a request id, as a reservation and as a permit", async () => {
    const limits = [concurrency({ limit: 100, permitMs: 1_000 }), fine];
    const { limiter, inner, store, clock } = setUp(
      { limit: fixedWindow({ limit: 4, windowMs: 1_000 }) },
      limits,
    );
    const rate = createLimiter({ limit: fine, store: asAnotherProcess(store), clock });
    await limiter.acquire("key");
    await limiter.acquire("key");
    await rate.reserve("key");
    await rate.check("key", { requestId: "1" });
    inner.calls = 0;
    const refused = await limiter.acquire("key");
    expect(refused.allowed).toBe(false);
    await refused.release();
    expect((await rate.reserve("key")).allowed).toBe(false);
    expect((await rate.check("key", { requestId: "1" })).allowed).toBe(false);
    expect(inner.calls).toBe(0);
  });

  it("is none when it only peeks, which shows the store's answer", () => {
    const { check, limiter } = setUp();
    for (let n = 0; n < 100; n++) limiter.peek("key");
    for (let n = 0; n < 20; n++) expect(check("key").limit).toBe(5);
    expect(check("key").limit).toBe(20);
    expect(limiter.peek("key")).toMatchObject({ allowed: false, limit: 5 });
  });

  it("is let through where memory for it is full: that is no fault of its key", () => {
    const limit = slidingWindowLog({ limit: 1_000, windowMs: 60_000 });
    const { check, inner, clock, store } = setUp({ limit, keysMax: 8 });
    const counter = { scope: "other", part: 0, limit: fine };
    for (let n = 0; n < 200; n++) {
      check("key");
      store.decide([{ counter, key: "key", cost: 1, nowMs: clock.now() }]);
      clock.advance(1);
    }
    expect(inner.calls).toBe(400);
  });

  it("counts from zero after a reset or an unblock of its key", async () => {
    const { check, limiter } = setUp();
    for (const verb of ["reset", "unblock"] as const) {
      for (let n = 0; n < 21; n++) check("key");
      for (let n = 0; n < 21; n++) check("other");
      await limiter[verb]("key");
      expect(check("key").limit).toBe(5);
      expect(check("other").limit).toBe(20);
    }
  });

  it("of a whole scope is not forgotten by a reset of one key", async () => {
    const { check, limiter } = setUp({ by: "scope" });
    for (let n = 0; n < 21; n++) check("*");
    await limiter.reset("*");
    expect(check("*").limit).toBe(20);
  });
});

describe("a request of several charges", () => {
  const limit = fixedWindow({ limit: 2, windowMs: 1_000 });
  const charge = (scope: string, key: string, part = 0): Charge => ({
    counter: { scope, part, limit: fine },
    key,
    cost: 1,
    nowMs: START_MS,
  });

  it("is one attempt for each different key", () => {
    const { store } = setUp({ limit });
    const charges = [charge("a", "x"), charge("a", "x", 1), charge("a", "y"), charge("b", "x")];
    expect(store.decide(charges)).toMatchObject({ allowed: true });
    expect(store.decide([charge("a", "x")])).toMatchObject({ allowed: true });
    const refused = store.decide(charges) as Outcome;
    expect(refused).toMatchObject({ allowed: false, receipts: [] });
    expect(refused.verdicts.map(({ allowed }) => allowed)).toEqual([false, false, true, true]);
    // A refusal counted nothing: y has one attempt left.
    expect(store.decide([charge("a", "y")])).toMatchObject({ allowed: true });
    expect(store.decide([charge("a", "y")])).toMatchObject({ allowed: false });
  });

  it("is one attempt for each different scope where scopes are counted", () => {
    const { store } = setUp({ limit, by: "scope" });
    const charges = [charge("a", "x"), charge("a", "y"), charge("b", "x")];
    expect(store.decide(charges)).toMatchObject({ allowed: true });
    expect(store.decide(charges)).toMatchObject({ allowed: true });
    expect(store.decide(charges)).toMatchObject({ allowed: false });
    expect(store.decide([charge("b", "z")])).toMatchObject({ allowed: false });
    expect(store.decide([charge("c", "z")])).toMatchObject({ allowed: true });
  });

  it("is not refused for a key that has shadow charges alone", () => {
    const { store, inner } = setUp({ limit });
    const shadow = { ...charge("a", "x"), shadow: true };
    for (let n = 0; n < 5; n++) store.decide([shadow]);
    expect(inner.calls).toBe(5);
    expect(store.decide([shadow, charge("a", "y")])).toMatchObject({ allowed: true });
    const enforced = charge("a", "x", 1);
    expect(store.decide([shadow, enforced])).toMatchObject({ allowed: false });
    expect(store.decide([enforced, shadow])).toMatchObject({ allowed: false });
  });
});

describe("options", () => {
  it.each<[string, unknown, RegExp]>([
    [
      "no limit",
      {},
      /prelimit: limit is missing; it must be made by tokenBucket\(…\) .* rate such as "100\/minute"/,
    ],
    ["a look-alike", { limit: { algorithm: "tokenBucket" } }, /limit must be made by/],
    ["permits", { limit: concurrency({ limit: 1, permitMs: 1 }) }, /hold nothing, got concurrency/],
    [
      "a shaper",
      { limit: leakyBucket({ ratePerSecond: 1, queueSize: 1 }) },
      /got a leakyBucket of mode "shape"/,
    ],
    ["another by", { limit: coarse, by: "ip" }, /by must be one of key, scope, got "ip"/],
    [
      "no keys",
      { limit: coarse, keysMax: 0 },
      /keysMax must be a whole number from 1 to 100000000, got 0/,
    ],
    [
      "no clock",
      { limit: coarse, clock: {} },
      /clock must have a function now\(\), and optionally wall\(\), got \{\}/,
    ],
    ["another option", { limit: coarse, max: 1 }, /unknown option "max"/],
    ["none", undefined, /needs an object of options, got undefined/],
  ])("%s is refused by an error that says what was seen", (_, options, message) => {
    const make = () => prelimit(memoryStore(), options as PrelimitOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "SLUICE_OPTION_INVALID" }) as SluiceError);
  });

  it("count a quota's attempts by the wall clock", () => {
    let wallMs = Date.UTC(2024, 5, 1, 23, 59);
    const clock = { now: () => START_MS, wall: () => wallMs };
    const store = prelimit(memoryStore(), { limit: quota({ limit: 1, period: "day" }), clock });
    const limiter = createLimiter({ limit: fine, store });
    limiter.check("key");
    expect(limiter.check("key")).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    wallMs += 60_000;
    expect(limiter.check("key")).toMatchObject({ allowed: true });
  });
});

it("is closed with its store", async () => {
  const { store, check } = setUp();
  await store.close();
  expect(() => check("key")).toThrow(SluiceError);
});

describe("below the coarse limit everything is decided as without it", () => {
  for (const by of ["key", "scope"] as const) {
    const createStore = (clock: Clock) =>
      prelimit(memoryStore({ keysMax: 10_000 }), { limit: noLimit, by, clock, keysMax: 10_000 });
    for (const { name, run } of storeConformance({ createStore, traces: 30 })) {
      it(`${name} (counted by ${by})`, run);
    }
  }
});
