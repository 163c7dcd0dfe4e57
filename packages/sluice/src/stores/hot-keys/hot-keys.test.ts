import { describe, expect, it } from "vitest";
import { toTest } from "../../../test/conformance-test.js";
import type { Verdict } from "../../base/decision.js";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { storeConformance } from "../../testing/store-conformance.js";
import { ForwardingStore } from "../forwarding-store.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Counter, Outcome } from "../store.js";
import { type HotKeyEvent, type HotKeysOptions, type HotKeysStore, hotKeys } from "./hot-keys.js";

const limit = tokenBucket({ capacity: 100_000, refill: { amount: 1, everyMs: 3_600_000 } });
const counters = new Map<Limit, Counter>();

function counterOf(of: Limit): Counter {
  const counter = counters.get(of) ?? { scope: "test", part: 0, limit: of };
  counters.set(of, counter);
  return counter;
}

class Stand {
  readonly clock = new ManualClock(Date.UTC(2024, 5, 1, 12));
  readonly shared = memoryStore({ keysMax: 1000 });
  readonly events: HotKeyEvent[] = [];
  readonly store: HotKeysStore;

  constructor(options: HotKeysOptions = {}) {
    const onEvent = (event: HotKeyEvent) => this.events.push(event);
    this.store = hotKeys(this.shared, { clock: this.clock, onEvent, ...options });
  }

  take(key = "key", of: Limit = limit): Verdict {
    return this.store.decideOne(counterOf(of), key, 1, this.clock.now()) as Verdict;
  }

  /** Asks this many times in the next second. */
  ask(perSecond: number, key = "key", of: Limit = limit): Verdict[] {
    return Array.from({ length: perSecond }, () => {
      const verdict = this.take(key, of);
      this.clock.advance(1000 / perSecond);
      return verdict;
    });
  }

  get left(): number {
    const charge = { counter: counterOf(limit), key: "key", cost: 0, nowMs: this.clock.now() };
    return this.shared.peek([charge])[0].remaining;
  }
}

describe("a key of a strict limit", () => {
  it("is leased from its hundredth decision in a second on, and strict before", () => {
    const stand = new Stand();
    for (let n = 0; n < 99; n++) expect(stand.take().source).toBe("memory");
    expect(stand.store.stats.hotKeys).toBe(0);
    stand.take();
    expect(stand.take().source).toBe("lease");
    expect(stand.events).toEqual([{ kind: "heated", scope: "test", key: "key", perSecond: 100 }]);
  });

  it("stays strict at a lower rate, however long", () => {
    const stand = new Stand();
    for (let second = 0; second < 20; second++) {
      for (const { source } of stand.ask(50)) expect(source).toBe("memory");
    }
    expect(stand.store.stats.heated).toBe(0);
  });

  it("stays hot at half the rate that made it hot, and cools below", () => {
    const stand = new Stand();
    stand.ask(200);
    for (let second = 0; second < 5; second++) stand.ask(50);
    expect(stand.store.stats).toMatchObject({ hotKeys: 1, heated: 1 });
    for (let second = 0; second < 3; second++) stand.ask(40);
    expect(stand.store.stats).toMatchObject({ hotKeys: 0, heated: 1 });
    expect(stand.take().source).toBe("memory");
    expect(stand.events.map(({ kind }) => kind)).toEqual(["heated", "cooled"]);
  });

  it("cools when nothing is asked for any more, and returns what it held", () => {
    const stand = new Stand();
    stand.ask(500);
    stand.clock.advance(3000);
    expect(stand.store.stats.hotKeys).toBe(0);
    expect(stand.events.map(({ kind }) => kind)).toEqual(["heated", "cooled"]);
    expect(stand.left).toBe(100_000 - 500);
  });

  it("returns what it held at the moment it cools", () => {
    const stand = new Stand({ hotPerSecond: 10, keysMax: 1 });
    for (let n = 0; n < 20; n++) stand.take();
    expect(stand.left).toBeLessThan(100_000 - 20);
    for (let n = 0; n < 2; n++) stand.take("another");
    expect(stand.events.at(-1)).toMatchObject({ kind: "cooled", key: "key" });
    expect(stand.left).toBe(100_000 - 20);
  });

  it("is never refused what is left, hot or not", () => {
    const stand = new Stand({ hotPerSecond: 10, lease: { holders: 1 } });
    const small = fixedWindow({ limit: 500, windowMs: 3_600_000 });
    let admitted = 0;
    for (const perSecond of [20, 3, 40, 2, 2, 100, 500]) {
      admitted += stand.ask(perSecond, "key", small).filter(({ allowed }) => allowed).length;
    }
    expect(admitted).toBe(500);
  });

  it("is leased in requests of several keys once all of them are hot, and none is before", () => {
    const stand = new Stand({ hotPerSecond: 10 });
    const ask = (...keys: string[]) => {
      const nowMs = stand.clock.now();
      const charges = keys.map((key) => ({ counter: counterOf(limit), key, cost: 1, nowMs }));
      return stand.store.decide(charges, { hold: "briefly" }) as Outcome;
    };
    for (let n = 0; n < 20; n++) ask("busy", `seldom ${n}`);
    expect(stand.store.stats).toMatchObject({ hotKeys: 1, lease: { leases: 0 } });
    for (let n = 0; n < 10; n++) ask("busy", "other");
    const { verdicts, receipts } = ask("busy", "other");
    expect(verdicts.map(({ source }) => source)).toEqual(["lease", "lease"]);
    const { unitsSpent } = stand.store.stats.lease;
    stand.store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: 0 })));
    expect(stand.store.stats.lease.unitsSpent).toBe(unitsSpent - 2);
  });

  it("is blocked and reset immediately while it is hot", () => {
    const stand = new Stand();
    const { clock, store } = stand;
    const limiter = createLimiter({ limit, store, clock });
    for (let n = 0; n < 200; n++) limiter.check("key");
    expect(limiter.check("key")).toMatchObject({ source: "lease" });
    limiter.reset("key");
    expect(limiter.peek("key")).toMatchObject({ remaining: 100_000 });
    limiter.block("key", 1000);
    expect(limiter.check("key")).toMatchObject({ allowed: false });
  });

  it("is not watched if it is very long", () => {
    const stand = new Stand();
    stand.ask(500, "k".repeat(513));
    expect(stand.store.top(10)).toEqual([]);
  });
});

describe("limits that can't be leased", () => {
  it.each([
    slidingWindowLog({ limit: 1000, windowMs: 60_000 }),
    leakyBucket({ ratePerSecond: 1000, queueSize: 1000 }),
  ])("stay strict, however hot: $algorithm", (of) => {
    const stand = new Stand();
    for (const { source } of stand.ask(500, "key", of)) expect(source).toBe("memory");
    expect(stand.store.stats).toMatchObject({ heated: 0, lease: { leases: 0 } });
    expect(stand.store.top(1)).toMatchObject([{ key: "key", isHot: false }]);
  });

  it("are acquired and reset together with others", () => {
    const { store, clock } = new Stand();
    const limiter = createLimiter({
      limit: [limit, concurrency({ limit: 5, permitMs: 1000 })],
      store,
      clock,
    });
    for (let n = 0; n < 5; n++) limiter.acquire("key");
    limiter.reset("key");
    expect(limiter.acquire("key", { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe("the busiest keys", () => {
  it("are listed by their rates, the busiest first", () => {
    const stand = new Stand();
    for (const [key, count] of [
      ["a", 10],
      ["b", 300],
      ["c", 50],
    ] as const) {
      for (let n = 0; n < count; n++) stand.take(key);
    }
    expect(stand.store.top(2)).toEqual([
      { scope: "test", key: "b", perSecond: 300, isHot: true },
      { scope: "test", key: "c", perSecond: 50, isHot: false },
    ]);
    stand.clock.advance(5000);
    expect(stand.store.top(1)).toMatchObject([{ perSecond: 0, isHot: false }]);
  });

  it("have no rate after a pause, also those that never were hot", () => {
    const stand = new Stand();
    for (let n = 0; n < 50; n++) stand.take();
    expect(stand.store.top(1)).toMatchObject([{ perSecond: 50 }]);
    stand.clock.advance(2000);
    expect(stand.store.top(1)).toMatchObject([{ perSecond: 0 }]);
  });

  it("are found among a flood of keys that come once", () => {
    const stand = new Stand({ keysMax: 50 });
    for (let n = 0; n < 20_000; n++) stand.take(n % 20 === 0 ? "busy" : `flood ${n}`);
    expect(stand.store.top(1)).toMatchObject([{ key: "busy", isHot: true }]);
    expect(stand.store.top(1000)).toHaveLength(50);
  });
});

describe("a listener that fails", () => {
  it.each([
    () => {
      throw new Error("no");
    },
    () => Promise.reject(new Error("no")),
  ])("changes no decision", async (onEvent) => {
    const stand = new Stand({ onEvent });
    for (const { allowed } of stand.ask(300)) expect(allowed).toBe(true);
    expect(stand.store.stats.heated).toBe(1);
    await Promise.resolve();
  });
});

it.each([
  [{ hotPerSecond: 0 }, "hotKeys: hotPerSecond must be a whole number from 1 to 1000000, got 0"],
  [{ keysMax: "1" }, 'hotKeys: keysMax must be a whole number from 1 to 1000000, got "1"'],
  [{ onEvent: 5 }, "hotKeys: onEvent must be a function, got 5"],
  [
    { lease: 5 },
    "hotKeys: lease must be an object with leaseMs, holders, warmAfter, keysMax, got 5",
  ],
  [
    { lease: { warmafter: 2 } },
    'hotKeys: lease: unknown option "warmafter", did you mean warmAfter?',
  ],
  [
    { lease: { leaseMs: 0 } },
    "hotKeys: lease.leaseMs must be a whole number from 1 to 1000, got 0",
  ],
  [{ clock: 5 }, "hotKeys: clock must have a function now(), and optionally wall(), got 5"],
])("options that can't be used are reported: %j", (options, message) => {
  expect(() => hotKeys(memoryStore(), options as HotKeysOptions)).toThrow(message);
});

it("closing returns what hot keys hold, and closes the store", () => {
  class KeptOpen extends ForwardingStore {
    isClosed = false;
    override close(): void {
      this.isClosed = true;
    }
  }
  const stand = new Stand();
  const inner = new KeptOpen(stand.shared);
  const store = hotKeys(inner, { clock: stand.clock });
  for (let n = 0; n < 150; n++) store.decideOne(counterOf(limit), "key", 1, stand.clock.now());
  expect(stand.left).toBeLessThan(100_000 - 150);
  store.close();
  expect(stand.left).toBe(100_000 - 150);
  expect(inner.isClosed).toBe(true);
});

describe("a memory store whose keys are cold keeps the whole contract", () => {
  const createStore = (clock: NonNullable<HotKeysOptions["clock"]>) =>
    hotKeys(memoryStore({ keysMax: 10_000 }), { clock, hotPerSecond: 1000 });
  for (const { name, run } of storeConformance({ createStore, traces: 50 })) it(name, run);
});

describe("a memory store whose keys are all hot keeps the contract", () => {
  const reason = "what remains under leases is a lower bound";
  const createStore = (clock: NonNullable<HotKeysOptions["clock"]>) =>
    hotKeys(memoryStore({ keysMax: 10_000 }), { clock, hotPerSecond: 1, lease: { holders: 1 } });
  const skip: Record<string, string> = {};
  for (const { name } of storeConformance({ createStore })) {
    const isOther = /^(the step tables hold|random traces)|old numbers, still in use$/.test(name);
    if (isOther) skip[name] = reason;
  }
  for (const each of storeConformance({ createStore, skip })) it(each.name, toTest(each));
});
