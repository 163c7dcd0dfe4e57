// Requests of several charges out of leases, and charges that are refunded in a moment.

import { describe, expect, it } from "vitest";
import { settled, Wire } from "../../../test/wire.js";
import { fixedWindow, type Limit, tokenBucket } from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { denyCache } from "../deny-cache/deny-cache.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, DecideOptions, Outcome } from "../store.js";
import type { LeasedOptions } from "./lease-options.js";
import { type LeasedStore, leased } from "./leased.js";

const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

/** A shared store, and requests that two rules count. */
class Stand {
  readonly clock = new ManualClock(START_MS);
  readonly shared = memoryStore({ keysMax: 1000 });
  readonly counters: readonly Counter[];

  constructor(limit: Limit = fixedWindow({ limit: 1000, windowMs: HOUR_MS })) {
    this.counters = ["ip", "user"].map((scope) => ({ scope, part: 0, limit }));
  }

  process(options: LeasedOptions = {}): LeasedStore {
    return leased(this.shared, { clock: this.clock, warmAfter: 1, holders: 1, ...options });
  }

  charges(costs: readonly number[] = [1, 1], keys: readonly string[] = ["ip:1", "bob"]): Charge[] {
    const nowMs = this.clock.now();
    return costs.map((cost, i) => ({ counter: this.counters[i], key: keys[i], cost, nowMs }));
  }

  ask(store: LeasedStore, costs?: readonly number[], options?: DecideOptions): Outcome {
    return store.decide(this.charges(costs), options) as Outcome;
  }

  /** What is left in the store itself. */
  left(): readonly number[] {
    return this.shared.peek(this.charges()).map(({ remaining }) => remaining);
  }
}

function sources({ verdicts }: Outcome): readonly string[] {
  return verdicts.map(({ source }) => source);
}

describe("a request of several charges", () => {
  it("is decided synchronously, and asks the store at most once in a hundred times", async () => {
    const stand = new Stand(fixedWindow({ limit: 1_000_000, windowMs: HOUR_MS }));
    const wire = new Wire(stand.shared, stand.clock);
    const store = leased(wire, { clock: stand.clock, warmAfter: 1, holders: 1 });
    let calls = 0;
    let waited = 0;
    for (let n = 0; n < 10_000; n++) {
      if (store.decide(stand.charges()) instanceof Promise) waited++;
      calls += wire.calls.length;
      wire.deliverAll();
      await settled();
    }
    expect(calls).toBeLessThan(100);
    expect(waited).toBeLessThan(10);
  });

  it("is the store's until all of its keys are warm, and leases nothing before", () => {
    const stand = new Stand();
    const store = stand.process({ warmAfter: 3 });
    for (let n = 0; n < 20; n++) store.decide(stand.charges([1, 1], ["ip:1", `new ${n}`]));
    expect(store.stats).toMatchObject({ leases: 0, leasedDecisions: 0, strictDecisions: 20 });
    for (let n = 0; n < 2; n++) expect(sources(stand.ask(store))).toEqual(["memory", "memory"]);
    expect(sources(stand.ask(store))).toEqual(["memory", "memory"]);
    expect(sources(stand.ask(store))).toEqual(["lease", "lease"]);
  });

  it("spends nothing that is held if one of its charges is refused", () => {
    const stand = new Stand();
    const store = stand.process();
    stand.ask(store);
    const before = store.peek(stand.charges()) as Outcome["verdicts"];
    expect(stand.ask(store, [1, 1000])).toMatchObject({ allowed: false });
    expect(store.peek(stand.charges())).toEqual(before);
  });

  it("keeps the lease of a charge that passes when another one is refused", () => {
    const stand = new Stand();
    const store = stand.process();
    stand.ask(store);
    const { leases, unitsReturned } = store.stats;
    stand.shared.debit([{ ...stand.charges()[1], key: "eve", cost: 1000 }]);
    expect(store.decide(stand.charges([1, 1], ["ip:1", "eve"]))).toMatchObject({
      allowed: false,
    });
    expect(store.stats).toMatchObject({ leases, unitsReturned });
  });

  it("refuses only charges that its leases don't cover, and a deny cache learns no more than that", () => {
    const stand = new Stand();
    const store = stand.process();
    const cached = denyCache(store, { clock: stand.clock });
    stand.ask(store);
    const [ip, user] = stand.charges();
    stand.shared.debit([
      { ...ip, cost: stand.left()[0] },
      { ...user, key: "eve", cost: 1000 },
    ]);
    const refused = cached.decide(stand.charges([1, 1], ["ip:1", "eve"])) as Outcome;
    expect(refused).toMatchObject({
      allowed: false,
      verdicts: [{ allowed: true, retryAfterMs: 0 }, { allowed: false }],
    });
    const alone = cached.decideOne(ip.counter, ip.key, 1, ip.nowMs);
    expect(alone).toMatchObject({ allowed: true, source: "lease" });
  });

  it("is never refused what is left for a process alone, to the last unit", () => {
    for (let trace = 0; trace < 100; trace++) {
      const random = new SeededRandom(`lists ${trace}`);
      const stand = new Stand(
        tokenBucket({ capacity: 300, refill: { amount: 1, everyMs: HOUR_MS } }),
      );
      const store = stand.process({ leaseMs: random.pick([20, 200, 1000]) });
      const left = [300, 300];
      for (let step = 0; step < 200; step++) {
        if (random.chance(0.3)) stand.clock.advance(random.between(0, 300));
        const costs = [random.between(1, 3), random.between(1, random.pick([3, 30]))];
        const allowed = costs.every((cost, i) => cost <= left[i]);
        const hold = random.pick([false, "briefly"] as const);
        expect(stand.ask(store, costs, { hold }).allowed).toBe(allowed);
        if (allowed) for (const [i, cost] of costs.entries()) left[i] -= cost;
      }
      expect(Math.min(...left)).toBe(0);
    }
  });

  it("that names itself, is a shadow or charges a key twice is the store's", () => {
    const stand = new Stand();
    const store = stand.process();
    for (let n = 0; n < 5; n++) stand.ask(store);
    expect(sources(stand.ask(store, [1, 1], { requestId: "x" }))).toEqual(["memory", "memory"]);
    const [one, other] = stand.charges();
    const shadow = store.decide([one, { ...other, shadow: true }]) as Outcome;
    expect(sources(shadow)).toEqual(["memory", "memory"]);
    expect(sources(store.decide([one, one]) as Outcome)).toEqual(["memory", "memory"]);
  });

  it("waits for a lease of its own that is on its way before it is refused", async () => {
    const stand = new Stand(fixedWindow({ limit: 16, windowMs: HOUR_MS }));
    const wire = new Wire(stand.shared, stand.clock);
    const store = leased(wire, { clock: stand.clock, warmAfter: 1, holders: 1 });
    store.decide(stand.charges());
    wire.deliverAll();
    await settled();
    // The leases of both keys are debited, and their replies are late.
    const late = wire.calls.splice(0).map((call) => call.execute());
    expect(late.length).toBe(2);
    const asked = store.decide(stand.charges([14, 14])) as Promise<Outcome>;
    wire.deliverAll();
    await settled();
    for (const reply of late) reply();
    for (let turn = 0; turn < 8; turn++) {
      await settled();
      wire.deliverAll();
    }
    expect((await asked).allowed).toBe(true);
  });
});

describe("a charge that is held briefly", () => {
  function warmed(limit?: Limit) {
    const stand = new Stand(limit);
    const store = stand.process();
    stand.ask(store);
    const spent = () => store.stats.unitsSpent;
    return { stand, store, spent };
  }

  it("goes back into the lease it came from, once, and can be spent again", () => {
    const { stand, store, spent } = warmed();
    const { receipts } = stand.ask(store, [4, 2], { hold: "briefly" });
    expect([receipts.map(({ cost }) => cost), spent()]).toEqual([[4, 2], 6]);
    const nowMs = stand.clock.now();
    const settlings = receipts.map((receipt) => ({ receipt, kept: 1, nowMs }));
    store.settle(settlings);
    expect(spent()).toBe(2);
    store.settle(settlings);
    expect(spent()).toBe(2);
  });

  it("goes back over the border of two leases, to each what it gave", () => {
    const { stand, store, spent } = warmed();
    for (let n = 0; n < 7; n++) stand.ask(store);
    const before = spent();
    const { receipts, verdicts } = stand.ask(store, [3, 3], { hold: "briefly" });
    expect(verdicts.map(({ source }) => source)).toEqual(["lease", "lease"]);
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: START_MS })));
    expect(spent()).toBe(before);
  });

  it("counts as spent once its lease is gone, whatever is held by then", () => {
    const { stand, store } = warmed(fixedWindow({ limit: 1000, windowMs: 100 }));
    const { receipts } = stand.ask(store, [4, 4], { hold: "briefly" });
    stand.clock.advance(100);
    for (let n = 0; n < 3; n++) stand.ask(store);
    const before = store.peek(stand.charges());
    const nowMs = stand.clock.now();
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
    expect(store.peek(stand.charges())).toEqual(before);
  });

  /** Asks now and then, so that the key is not idle, and the leases of before go. */
  function passLease(stand: Stand, store: LeasedStore): number {
    const times = 12;
    for (let n = 0; n < times; n++) {
      stand.clock.advance(100);
      stand.ask(store);
    }
    return times;
  }

  it("is home with the next sweep if it is refunded after its lease went", () => {
    const { stand, store, spent } = warmed();
    const { receipts } = stand.ask(store, [4, 2], { hold: "briefly" });
    const others = 2 * (1 + passLease(stand, store));
    const nowMs = stand.clock.now();
    store.settle(receipts.map((receipt) => ({ receipt, kept: 1, nowMs })));
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
    stand.clock.advance(1000);
    expect(stand.left()).toEqual([1000 - others / 2 - 1, 1000 - others / 2 - 1]);
    // The first request was the store's.
    expect(spent()).toBe(others - 2 + 2);
    expect(store.stats.unitsExpired).toBe(0);
  });

  it("is home too if another lease had taken over, and if all of it was taken", () => {
    const { stand, store } = warmed();
    const held = [8, 8, 3].map((cost) => stand.ask(store, [cost, cost], { hold: "briefly" }));
    expect(stand.ask(store).allowed).toBe(true);
    const nowMs = stand.clock.now();
    for (const { receipts } of held) {
      store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
    }
    stand.clock.advance(1000);
    expect(stand.left()).toEqual([998, 998]);
  });

  it("goes back into a lease that was empty without it, if no other has taken over", async () => {
    const stand = new Stand(fixedWindow({ limit: 18, windowMs: HOUR_MS }));
    const store = stand.process();
    stand.ask(store);
    const { unitsLeased } = store.stats;
    const { receipts } = stand.ask(store, [8, 8], { hold: "briefly" });
    expect(sources(stand.ask(store, [5, 5]))).toEqual(["memory", "memory"]);
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: START_MS })));
    expect(sources(stand.ask(store, [8, 8]))).toEqual(["lease", "lease"]);
    expect(unitsLeased).toBe(16);
  });

  it("that is kept lets its lease be returned immediately", () => {
    const { stand, store } = warmed();
    const { receipts } = stand.ask(store, [4, 2], { hold: "briefly" });
    for (const receipt of receipts) store.keep(receipt);
    stand.clock.advance(700);
    expect(stand.left()).toEqual([995, 997]);
    // A receipt is presented once.
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: START_MS })));
    stand.clock.advance(700);
    expect(stand.left()).toEqual([995, 997]);
  });

  it("that is not settled for ten seconds is spent, and no longer waited for", () => {
    const { stand, store } = warmed();
    const { receipts } = stand.ask(store, [4, 2], { hold: "briefly" });
    stand.clock.advance(10_000);
    expect(stand.left()).toEqual([992 - 1, 992 - 1]);
    stand.clock.advance(1_000);
    expect(stand.left()).toEqual([995, 997]);
    const nowMs = stand.clock.now();
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
    stand.clock.advance(1_000);
    expect(stand.left()).toEqual([995, 997]);
    expect(store.stats).toMatchObject({ unitsSpent: 0, unitsExpired: 6, unitsReturned: 10 });
  });

  it("keeps no request of the same process from what is left of its lease", () => {
    const { stand, store } = warmed();
    stand.ask(store, [4, 4], { hold: "briefly" });
    stand.clock.advance(700);
    expect(stand.ask(store, [995, 995]).allowed).toBe(true);
    expect(stand.ask(store).allowed).toBe(false);
  });

  it("that turns out to cost more is charged the rest in the store", () => {
    const { stand, store } = warmed();
    const { receipts } = stand.ask(store, [1, 1], { hold: "briefly" });
    const [first, second] = stand.left();
    const nowMs = stand.clock.now();
    store.settle(receipts.map((receipt, i) => ({ receipt, kept: 1 + 5 * i, nowMs })));
    expect(stand.left()).toEqual([first, second - 5]);
  });

  it("gets no receipt if it is final, and one of the store if the store decided", () => {
    const { stand, store } = warmed();
    const [one, other] = stand.charges();
    const mixed = store.decide([{ ...one, isFinal: true }, other], { hold: "briefly" }) as Outcome;
    expect(mixed.receipts.map(({ counter }) => counter)).toEqual([other.counter]);
    const { receipts, verdicts } = stand.ask(store, [500, 1], { hold: "briefly" });
    expect(verdicts.map(({ source }) => source)).toEqual(["memory", "memory"]);
    const left = stand.left();
    const nowMs = stand.clock.now();
    store.settle([...mixed.receipts, ...receipts].map((receipt) => ({ receipt, kept: 0, nowMs })));
    expect(stand.left()[0]).toBe(left[0] + 500);
  });
});
