import { describe, expect, it, vi } from "vitest";
import { settled, Wire } from "../../../test/wire.js";
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
import { ForwardingStore } from "../forwarding-store.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, DecideOptions, Outcome, Store } from "../store.js";
import type { LeasedOptions } from "./lease-options.js";
import { type LeasedStore, leased } from "./leased.js";

const START_MS = Date.UTC(2024, 5, 1, 12);
const HOUR_MS = 3_600_000;

/** Limits of 1,000 units that refill nothing while a test runs. */
const limits: Record<string, Limit> = {
  "token bucket": tokenBucket({ capacity: 1000, refill: { amount: 1, everyMs: HOUR_MS } }),
  meter: leakyBucket({ ratePerSecond: 1 / 3600, queueSize: 999, mode: "meter" }),
  "fixed window": fixedWindow({ limit: 1000, windowMs: HOUR_MS }),
  "sliding counter": slidingWindowCounter({ limit: 1000, windowMs: HOUR_MS }),
  "sliding log": slidingWindowLog({ limit: 1000, windowMs: HOUR_MS }),
  "calendar quota": quota({ limit: 1000, period: "day" }),
};
const kinds = Object.keys(limits);
const bucket = limits["token bucket"];

/** A clock, a shared store and processes that hold leases of it. */
class Stand {
  readonly clock = new ManualClock(START_MS);
  readonly shared = memoryStore({ keysMax: 1000 });

  process(options: LeasedOptions = {}, inner: Store = new KeptOpen(this.shared)): LeasedStore {
    return leased(inner, { clock: this.clock, warmAfter: 1, holders: 1, ...options });
  }

  take(store: LeasedStore, limit: Limit, cost = 1, key = "key"): Verdict {
    const verdict = store.decideOne(counterOf(limit), key, cost, this.clock.now());
    if (verdict instanceof Promise) throw new Error("an answer that has to be waited for");
    return verdict;
  }

  /** What a process that holds nothing sees. */
  left(limit: Limit, key = "key"): number {
    const charge = { counter: counterOf(limit), key, cost: 0, nowMs: this.clock.now() };
    const [verdict] = this.process().peek([charge]) as readonly Verdict[];
    return verdict.remaining;
  }
}

/** Several processes share a store that none of them closes. */
class KeptOpen extends ForwardingStore {
  override close(): void {}
}

const counters = new Map<Limit, Counter>();

function counterOf(limit: Limit): Counter {
  const counter = counters.get(limit) ?? { scope: "test", part: 0, limit };
  counters.set(limit, counter);
  return counter;
}

describe("what a lease answers", () => {
  it("comes from the store until the key was asked for warmAfter times within leaseMs", () => {
    const stand = new Stand();
    const store = stand.process({ warmAfter: 3 });
    const sources = Array.from({ length: 5 }, () => stand.take(store, bucket).source);
    expect(sources).toEqual(["memory", "memory", "memory", "lease", "lease"]);
    stand.clock.advance(5000);
    expect(stand.take(store, bucket).source).toBe("memory");
  });

  it("shows what is left of the lease, a reset that is counted down, and no delay", () => {
    const stand = new Stand();
    const store = stand.process();
    stand.take(store, limits["fixed window"]);
    stand.clock.advance(100);
    expect(stand.take(store, limits["fixed window"])).toEqual({
      allowed: true,
      limit: 1000,
      remaining: 7,
      retryAfterMs: 0,
      resetMs: HOUR_MS - 100,
      delayMs: 0,
      source: "lease",
    });
  });

  it("never shows more remaining than is left", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let spent = 1; spent <= 1000; spent++) {
      const { allowed, remaining } = stand.take(store, bucket);
      expect(allowed).toBe(true);
      expect(remaining).toBeLessThanOrEqual(1000 - spent);
    }
    expect(stand.take(store, bucket)).toMatchObject({ allowed: false, remaining: 0 });
  });

  it("is the store's for a cost above the fair lease", () => {
    const stand = new Stand();
    const store = stand.process({ holders: 4 });
    stand.take(store, bucket);
    expect(stand.take(store, bucket, 126).source).toBe("memory");
    expect(store.stats.unitsLeased).toBeLessThanOrEqual(125);
  });

  it("is the store's for request ids, and for reservations: they may outlive a lease", () => {
    const stand = new Stand();
    const store = stand.process();
    const { clock } = stand;
    const one = createLimiter({ limit: bucket, store, clock });
    for (let n = 0; n < 20; n++) {
      expect(one.check("key", { requestId: `${n}` })).toMatchObject({ source: "memory" });
      expect(one.reserve("key")).toMatchObject({ allowed: true, source: "memory" });
    }
    expect(store.stats).toMatchObject({ leases: 0, leasedDecisions: 0, strictDecisions: 40 });
  });

  it("is for several limits too, once their keys are warm", () => {
    const stand = new Stand();
    const store = stand.process();
    const { clock } = stand;
    const two = createLimiter({ limit: [bucket, limits["fixed window"]], store, clock });
    const seen = Array.from({ length: 20 }, () => two.check("key") as Verdict);
    expect(seen.map(({ source }) => source)).toEqual(["memory", ...Array(19).fill("lease")]);
    expect(store.stats).toMatchObject({ leasedDecisions: 19, strictDecisions: 1 });
  });
});

describe("one holder alone", () => {
  it.each(kinds)("is never refused what is left of a %s", (name) => {
    for (let trace = 0; trace < 100; trace++) {
      const random = new SeededRandom(`alone ${name} ${trace}`);
      const stand = new Stand();
      const store = stand.process({ leaseMs: random.pick([20, 200, 1000]) });
      let left = 1000;
      for (let step = 0; step < 200 && left > 0; step++) {
        if (random.chance(0.3)) stand.clock.advance(random.between(0, 300));
        const cost = random.between(1, random.pick([3, 30, 300]));
        expect(stand.take(store, limits[name], cost).allowed).toBe(cost <= left);
        if (cost <= left) left -= cost;
      }
    }
  });

  it("adds what it holds to what the store has, and keeps it if that is not enough", () => {
    const stand = new Stand();
    const store = stand.process();
    const limit = fixedWindow({ limit: 20, windowMs: HOUR_MS });
    stand.take(store, limit);
    const { unitsLeased } = store.stats;
    expect(unitsLeased).toBe(8);
    expect(stand.take(store, limit, 20)).toMatchObject({ allowed: false, remaining: 19 });
    expect(stand.take(store, limit, 19)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("is refused for ever what is above the limit, however much it holds", () => {
    const stand = new Stand();
    const limit = tokenBucket({ capacity: 20, refillPerSecond: 1000 });
    const store = stand.process();
    stand.take(store, limit);
    stand.clock.advance(100);
    const { allowed, retryAfterMs } = stand.take(store, limit, 21);
    expect({ allowed, retryAfterMs }).toEqual({ allowed: false, retryAfterMs: Infinity });
  });

  it("has what it holds for its reservations too", () => {
    const stand = new Stand();
    const store = stand.process();
    const limiter = createLimiter({ limit: bucket, store, clock: stand.clock });
    for (let n = 0; n < 10; n++) limiter.check("key");
    expect(limiter.reserve("key", { cost: 990 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("is not refused while its own lease is on its way", async () => {
    const stand = new Stand();
    const wire = new Wire(stand.shared, stand.clock);
    const store = stand.process({}, wire);
    const limit = fixedWindow({ limit: 10, windowMs: HOUR_MS });
    const ask = (cost: number) => store.decideOne(counterOf(limit), "key", cost, START_MS);
    const first = ask(1);
    wire.deliverAll();
    await first;
    const [lease] = wire.calls.splice(0);
    const reply = lease.execute();
    // 4 of the 9 left are leased, and the reply is not here yet.
    const second = ask(9);
    wire.deliverAll();
    await settled();
    reply();
    await settled();
    wire.deliverAll();
    expect(await second).toMatchObject({ allowed: true });
  });
});

describe("one holder's callers at the same time", () => {
  it("find what another one could not use", async () => {
    const stand = new Stand();
    const wire = new Wire(stand.shared, stand.clock);
    const store = stand.process({}, wire);
    const limit = fixedWindow({ limit: 20, windowMs: HOUR_MS });
    const ask = (cost: number) => store.decideOne(counterOf(limit), "key", cost, START_MS);
    const first = ask(1);
    wire.deliverAll();
    await first;
    wire.deliverAll();
    await settled();
    // 8 are held here, and another process takes all the rest.
    stand.take(stand.process({ warmAfter: 9 }), limit, 11);
    const [large, small] = [ask(9), ask(8)];
    const [askedLarge, askedSmall] = wire.calls.splice(0);
    for (const { execute } of [askedLarge, askedSmall]) {
      execute()();
      await settled();
    }
    expect(await large).toMatchObject({ allowed: false, remaining: 8 });
    expect(await small).toMatchObject({ allowed: true, source: "lease" });
  });
});

describe("what is unspent returns", () => {
  it.each(kinds)("of a %s, when the key is idle", (name) => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 100; n++) stand.take(store, limits[name]);
    expect(stand.left(limits[name])).toBeLessThan(900);
    stand.clock.advance(700);
    expect(stand.left(limits[name])).toBe(900);
    expect(store.stats.unitsExpired).toBe(0);
  });

  it.each(kinds)("of a %s, on close", (name) => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 100; n++) stand.take(store, limits[name]);
    store.close();
    expect(stand.left(limits[name])).toBe(900);
    const { unitsLeased, unitsSpent, unitsReturned } = store.stats;
    expect(unitsReturned).toBe(unitsLeased - unitsSpent);
  });

  it("before it expires, also of a key that is asked for now and then", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 50; n++) {
      stand.take(store, bucket);
      stand.clock.advance(260);
    }
    stand.clock.advance(1000);
    expect(stand.left(bucket)).toBe(950);
    expect(store.stats.unitsExpired).toBe(0);
  });

  it("on close from leases that are still on their way", async () => {
    const stand = new Stand();
    const wire = new Wire(new KeptOpen(stand.shared), stand.clock);
    const store = stand.process({}, wire);
    const asked = store.decideOne(counterOf(bucket), "key", 1, START_MS);
    wire.deliverAll();
    await asked;
    let isClosed = false;
    const closed = Promise.resolve(store.close()).then(() => {
      isClosed = true;
    });
    wire.deliverAll();
    await settled();
    // The lease has come and goes back: its return is on its way now.
    expect(isClosed).toBe(false);
    wire.deliverAll();
    await closed;
    expect(stand.left(bucket)).toBe(999);
  });

  it("or counts as spent, if its holder is gone, until the period ends", () => {
    const stand = new Stand();
    const limit = fixedWindow({ limit: 100, windowMs: HOUR_MS });
    const dead = leased(new KeptOpen(stand.shared), {
      clock: new ManualClock(START_MS),
      warmAfter: 1,
      holders: 1,
    });
    for (let n = 0; n < 10; n++) dead.decideOne(counterOf(limit), "key", 1, START_MS);
    const left = stand.left(limit);
    expect(left).toBeLessThan(90);
    stand.clock.set(START_MS + HOUR_MS - 1);
    expect(stand.left(limit)).toBe(left);
    stand.clock.advance(1);
    expect(stand.left(limit)).toBe(100);
  });

  it("or counts as spent, if its holder is gone, until refill has made up for it", () => {
    const stand = new Stand();
    const limit = tokenBucket({ capacity: 100, refillPerSecond: 10 });
    const dead = leased(new KeptOpen(stand.shared), {
      clock: new ManualClock(START_MS),
      warmAfter: 1,
      holders: 1,
    });
    for (let n = 0; n < 10; n++) dead.decideOne(counterOf(limit), "key", 1, START_MS);
    const left = stand.left(limit);
    for (let n = 1; left + n * 10 <= 100; n++) {
      stand.clock.advance(1000);
      expect(stand.left(limit)).toBe(left + n * 10);
    }
  });

  it("no timer runs while nothing is held", () => {
    const stand = new Stand();
    const after = vi.spyOn(stand.clock, "after");
    const store = stand.process();
    for (let n = 0; n < 10; n++) stand.take(store, bucket);
    stand.clock.advance(2000);
    after.mockClear();
    stand.clock.advance(10_000);
    expect(after).not.toHaveBeenCalled();
  });
});

/** Answers in the next turn, and counts calls. */
class NextTurn extends ForwardingStore {
  calls = 0;

  override decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    this.calls++;
    return Promise.resolve(super.decide(charges, options));
  }

  override decideOne(...args: Parameters<ForwardingStore["decideOne"]>): Promise<Verdict> {
    this.calls++;
    return Promise.resolve(super.decideOne(...args));
  }

  override settle(...args: Parameters<Store["settle"]>): Promise<void> {
    this.calls++;
    return Promise.resolve(super.settle(...args));
  }
}

describe("a busy key over a store that answers later", () => {
  it("is answered synchronously, with at most one call in two thousand decisions", async () => {
    const stand = new Stand();
    const inner = new NextTurn(stand.shared);
    const store = stand.process({ warmAfter: 8, holders: 4 }, inner);
    const limit = tokenBucket({ capacity: 1_000_000, refillPerSecond: 1_000_000 });
    let sync = 0;
    let decisions = 0;
    for (let ms = 0; ms < 10_000; ms++) {
      for (let n = 0; n < 20; n++) {
        const verdict = store.decideOne(counterOf(limit), "key", 1, stand.clock.now());
        if (!(verdict instanceof Promise)) sync++;
        decisions++;
      }
      stand.clock.advance(1);
      await settled();
    }
    expect(sync / decisions).toBeGreaterThan(0.99);
    expect((inner.calls / decisions) * 1000).toBeLessThanOrEqual(0.5);
    expect(store.stats.leasedDecisions).toBe(sync);
  });
});

describe("a lease ends", () => {
  it.each(["fixed window", "sliding counter"])("with its %s", (name) => {
    const make = name === "fixed window" ? fixedWindow : slidingWindowCounter;
    const stand = new Stand();
    const limit = make({ limit: 1000, windowMs: 500 });
    // Without the sweep, which would return what is left before it ends.
    const still: LeasedOptions["clock"] = { now: () => stand.clock.now(), after: () => () => {} };
    const store = stand.process({ clock: still });
    stand.clock.advance(200);
    for (let n = 0; n < 9; n++) stand.take(store, limit);
    stand.clock.advance(299);
    expect(stand.take(store, limit).source).toBe("lease");
    stand.clock.advance(1);
    expect(stand.take(store, limit).source).toBe("memory");
  });

  it("with the calendar period of its quota", () => {
    const stand = new Stand();
    const store = stand.process();
    const limit = quota({ limit: 1000, period: "day" });
    stand.clock.set(Date.UTC(2024, 5, 1, 23, 59, 59, 800));
    for (let n = 0; n < 9; n++) stand.take(store, limit);
    stand.clock.advance(199);
    expect(stand.take(store, limit).source).toBe("lease");
    stand.clock.advance(1);
    expect(stand.take(store, limit).source).toBe("memory");
  });

  it("by the limiter's time too, if that is ahead", () => {
    const stand = new Stand();
    const store = stand.process({ clock: new ManualClock() });
    for (let n = 0; n < 5; n++) stand.take(store, bucket);
    stand.clock.advance(1000);
    expect(stand.take(store, bucket).source).toBe("memory");
  });

  it("by its own clock, however often one and the same time is passed", () => {
    const stand = new Stand();
    const clock = new ManualClock();
    const store = stand.process({ clock });
    for (let n = 0; n < 5; n++) stand.take(store, bucket);
    clock.advance(1000);
    expect(stand.take(store, bucket).source).toBe("memory");
  });
});

describe("operators", () => {
  it("block a key in this process immediately, and in others within leaseMs", () => {
    const stand = new Stand();
    const [here, there] = [stand.process(), stand.process()];
    for (let n = 0; n < 9; n++) for (const store of [here, there]) stand.take(store, bucket);
    here.block("test", "key", { untilMs: START_MS + 60_000, nowMs: START_MS });
    expect(stand.take(here, bucket).allowed).toBe(false);
    expect(stand.take(there, bucket)).toMatchObject({ allowed: true, source: "lease" });
    for (let ms = 0; ms < 1000; ms += 10) {
      stand.clock.advance(10);
      stand.take(there, bucket);
    }
    expect(stand.take(there, bucket).allowed).toBe(false);
    here.unblock("test", "key");
    expect(stand.take(there, bucket).allowed).toBe(true);
  });

  it("reset a key to full in this process immediately", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 100; n++) stand.take(store, bucket);
    store.reset([{ counter: counterOf(bucket), key: "key", cost: 0, nowMs: START_MS }]);
    expect(stand.left(bucket)).toBe(1000);
    expect(stand.take(store, bucket, 1000).allowed).toBe(true);
    expect(stand.take(store, bucket).allowed).toBe(false);
  });

  it("refund what was used, after what was not has returned", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 100; n++) stand.take(store, bucket);
    store.refund([{ counter: counterOf(bucket), key: "key", cost: 40, nowMs: START_MS }]);
    expect(stand.left(bucket)).toBe(940);
  });

  it("leave the leases of other keys and scopes alone", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 5; n++) stand.take(store, bucket);
    store.block("test", "other", { untilMs: START_MS + 1000, nowMs: START_MS });
    store.block("other", "key", { untilMs: START_MS + 1000, nowMs: START_MS });
    expect(stand.take(store, bucket).source).toBe("lease");
  });
});

/** Decides as the inner store, except for leases. */
class OddBlocks extends ForwardingStore {
  readonly #answer: (outcome: Outcome) => Outcome | Promise<Outcome>;

  constructor(inner: Store, answer: (outcome: Outcome) => Outcome | Promise<Outcome>) {
    super(inner);
    this.#answer = answer;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions) {
    const outcome = super.decide(charges, options) as Outcome;
    return options?.hold === "lease" ? this.#answer(outcome) : outcome;
  }
}

describe("a store in trouble", () => {
  const odd: Record<string, (outcome: Outcome) => Outcome | Promise<Outcome>> = {
    "an error": () => {
      throw new Error("no");
    },
    "a rejection": () => Promise.reject(new Error("no")),
    "no receipt": (outcome) => ({ ...outcome, receipts: [] }),
    "a fallback's admission": (outcome) => ({
      ...outcome,
      verdicts: outcome.verdicts.map((verdict) => ({ ...verdict, source: "fallback" as const })),
    }),
  };

  it.each(Object.keys(odd))("that answers a lease with %s leaves the key strict", async (name) => {
    const stand = new Stand();
    const answer = vi.fn(odd[name]);
    const store = stand.process({}, new OddBlocks(stand.shared, answer));
    for (let n = 0; n < 20; n++) {
      expect(stand.take(store, bucket)).toMatchObject({ allowed: true, source: "memory" });
      await settled();
    }
    expect(store.stats).toMatchObject({ leases: 0, strictDecisions: 20 });
    // A store that is in trouble is not asked again and again.
    expect(answer).toHaveBeenCalledTimes(1);
  });

  it("gets back what its fallback admitted ahead", () => {
    const stand = new Stand();
    const inner = new OddBlocks(stand.shared, odd["a fallback's admission"] as never);
    stand.take(stand.process({}, inner), bucket);
    expect(stand.left(bucket)).toBe(999);
  });

  it("passes the errors of strict decisions on, and what was held stays", () => {
    const stand = new Stand();
    let isDown = false;
    class Down extends ForwardingStore {
      override decide(charges: readonly Charge[], options?: DecideOptions) {
        if (isDown) throw new Error("down");
        return super.decide(charges, options);
      }
    }
    const store = stand.process({}, new Down(stand.shared));
    stand.take(store, bucket);
    isDown = true;
    expect(() => stand.take(store, bucket, 9)).toThrow("down");
    expect(stand.take(store, bucket, 8)).toMatchObject({ allowed: true, source: "lease" });
  });

  it("is not sent failed returns twice; they are counted", () => {
    const stand = new Stand();
    class NoReturns extends ForwardingStore {
      override settle(): never {
        throw new Error("down");
      }
    }
    const store = stand.process({}, new NoReturns(stand.shared));
    stand.take(store, bucket);
    stand.clock.advance(5000);
    expect(store.stats).toMatchObject({ returnsFailed: 1, unitsReturned: 0, unitsExpired: 8 });
  });

  it("that never answers delays a refusal and close by leaseMs at most", async () => {
    const stand = new Stand();
    const limit = fixedWindow({ limit: 4, windowMs: HOUR_MS });
    const silent = new OddBlocks(new KeptOpen(stand.shared), () => new Promise(() => {}));
    const store = stand.process({}, silent);
    stand.take(store, limit);
    const refused = store.decideOne(counterOf(limit), "key", 4, START_MS);
    const closed = store.close();
    stand.clock.advance(1000);
    await closed;
    expect(await refused).toMatchObject({ allowed: false });
  });
});

describe("bounds", () => {
  it("keys beyond keysMax stay strict until others are idle", () => {
    const stand = new Stand();
    const store = stand.process({ keysMax: 2 });
    const sources = ["a", "b", "c"].map((key) => {
      stand.take(store, bucket, 1, key);
      return stand.take(store, bucket, 1, key).source;
    });
    expect(sources).toEqual(["lease", "lease", "memory"]);
    stand.clock.advance(1000);
    stand.take(store, bucket, 1, "c");
    expect(stand.take(store, bucket, 1, "c").source).toBe("lease");
  });

  it("a very long key is never kept", () => {
    const stand = new Stand();
    const store = stand.process();
    const sources = [512, 513].map((length) => {
      stand.take(store, bucket, 1, "k".repeat(length));
      return stand.take(store, bucket, 1, "k".repeat(length)).source;
    });
    expect(sources).toEqual(["lease", "memory"]);
  });

  it("a hundred thousand keys that are asked for once lease nothing", () => {
    const stand = new Stand();
    const store = leased(stand.shared, { clock: stand.clock });
    for (let n = 0; n < 100_000; n++) stand.take(store, bucket, 1, `key ${n}`);
    expect(store.stats.leases).toBeLessThan(100);
  });

  it("a log shorter than 20 ms, or as long as may be, is not leased", () => {
    for (const windowMs of [19, 366 * 24 * HOUR_MS]) {
      const stand = new Stand();
      const limit = slidingWindowLog({ limit: 100, windowMs });
      const store = stand.process();
      for (let n = 0; n < 10; n++) expect(stand.take(store, limit).source).toBe("memory");
    }
  });

  it('with logs: "strict" no log is leased, and none counts for longer than its window', () => {
    const stand = new Stand();
    const limit = slidingWindowLog({ limit: 3, windowMs: 60_000 });
    const store = stand.process({ logs: "strict" });
    for (let n = 0; n < 3; n++) expect(stand.take(store, limit).source).toBe("memory");
    expect(stand.take(store, limit)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    stand.clock.advance(60_000);
    expect(stand.take(store, limit)).toMatchObject({ allowed: true });
  });
});

describe("misuse", () => {
  it.each([
    [concurrency({ limit: 5, permitMs: 1000 }), /limit 0 of "test" is concurrency/],
    [leakyBucket({ ratePerSecond: 1, queueSize: 5 }), /limit 0 of "test" is leakyBucket in mode/],
  ])("a limit that can't be leased is an error that names it", (limit, named) => {
    const stand = new Stand();
    expect(() => stand.take(stand.process(), limit)).toThrow(named);
    expect(() => stand.take(stand.process(), limit)).toThrow(
      expect.objectContaining({ code: "SLUICE_NOT_LEASABLE" }),
    );
  });

  it.each([
    [{ leaseMs: 1001 }, "leased: leaseMs must be a whole number from 1 to 1000, got 1001"],
    [{ holders: 0 }, "leased: holders must be a whole number from 1 to 1000000, got 0"],
    [{ warmAfter: "8" }, 'leased: warmAfter must be a whole number from 1 to 10000, got "8"'],
    [{ keysMax: 0.5 }, "leased: keysMax must be a whole number from 1 to 10000000, got 0.5"],
    [{ clock: {} }, "leased: clock must have a function now(), and optionally wall(), got {}"],
    [{ logs: "never" }, 'leased: logs must be one of leased, strict, got "never"'],
    [{ lease: 5 }, 'leased: unknown option "lease"'],
  ])("options that can't be used are reported: %j", (options, message) => {
    expect(() => leased(memoryStore(), options as LeasedOptions)).toThrow(message);
  });
});
