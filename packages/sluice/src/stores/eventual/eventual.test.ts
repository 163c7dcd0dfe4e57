import { beforeEach, describe, expect, it } from "vitest";
import { toTest } from "../../../test/conformance-test.js";
import type { CancelTimer, Clock } from "../../base/clock.js";
import { isThenable } from "../../base/maybe-promise.js";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { storeConformance } from "../../testing/store-conformance.js";
import { ForwardingStore } from "../forwarding-store.js";
import { type MemoryStore, memoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, CounterStatus, Store } from "../store.js";
import { type EventualOptions, type EventualStore, eventual } from "./eventual.js";

const START_MS = Date.UTC(2024, 5, 1, 12);
const slow = fixedWindow({ limit: 100, windowMs: 3_600_000 });
const slowCounter = counterOf(slow);

let clock: ManualClock;
let inner: MemoryStore;
beforeEach(() => {
  clock = new ManualClock(START_MS);
  inner = memoryStore({ keysMax: 10_000 });
});

function counterOf(limit: Limit): Counter {
  return { scope: "test", part: 0, limit };
}

function node(store: Store = inner, options: EventualOptions = {}): EventualStore {
  return eventual(store, { clock, keysMax: 10_000, ...options });
}

function charge(cost: number, counter = slowCounter, key = "key"): Charge {
  return { counter, key, cost, nowMs: clock.now() };
}

function take(store: EventualStore, cost: number, key = "key", counter = slowCounter): boolean {
  return store.decideOne(counter, key, cost, clock.now()).allowed;
}

function leftIn(store: EventualStore): number {
  return store.peek([charge(0)])[0].remaining;
}

/** What all processes have sent. */
function usedInStore(counter = slowCounter): number {
  // A share of the limit, multiplied: its last digit is not promised.
  return Math.round(inner.debit([charge(0, counter)])[0].used * 1e6) / 1e6;
}

describe("an eventual store under the conformance kit", () => {
  const createStore = (kitClock: Clock) =>
    eventual(memoryStore({ keysMax: 10_000 }), { clock: kitClock });
  const skip = toSkip(storeConformance({ createStore }).map(({ name }) => name));
  for (const each of storeConformance({ createStore, skip })) it(each.name, toTest(each));
});

/** What is not promised: limits that are refused, and what comes back to the millisecond. */
function toSkip(names: readonly string[]): Record<string, string> {
  const reasons: [pattern: RegExp, reason: string][] = [
    [/that shapes|concurrency|permit/, "permits and shapers are refused"],
    [
      /reported in their order|several limits yield|time are all charged/,
      "has a shaper among others",
    ],
    [/tables hold|random traces/, "what was spent is sent, and so comes back, up to syncMs later"],
  ];
  return Object.fromEntries(
    names.flatMap((name) => {
      const found = reasons.find(([pattern]) => pattern.test(name));
      return found === undefined ? [] : [[name, found[1]]];
    }),
  );
}

describe("a sync", () => {
  it("shares what was admitted with others, every syncMs", () => {
    const [a, b] = [node(), node()];
    const all = [a, b];
    const keepAsking = () => {
      for (const each of all) take(each, 0);
      clock.advance(100);
    };
    keepAsking();
    take(a, 30);
    take(b, 5);
    expect([leftIn(a), leftIn(b), usedInStore()]).toEqual([70, 95, 0]);
    keepAsking();
    expect([leftIn(b), usedInStore()]).toEqual([65, 35]);
    keepAsking();
    expect([leftIn(a), leftIn(b), usedInStore()]).toEqual([65, 65, 35]);
  });

  it("of a key that is new here comes within 5 ms", () => {
    const [a, b] = [node(), node()];
    take(a, 60);
    clock.advance(5);
    expect(usedInStore()).toBe(60);
    expect(take(b, 50)).toBe(true);
    clock.advance(5);
    expect(leftIn(b)).toBe(0);
    expect(take(b, 1)).toBe(false);
  });

  it("of a key that is new here comes within 5 ms, also between two rounds", () => {
    const store = node();
    take(store, 1, "old");
    clock.advance(10);
    take(store, 7);
    clock.advance(5);
    expect(usedInStore()).toBe(7);
  });

  it("carries debt: what was admitted too much is paid back before anything passes", () => {
    const counter = counterOf(tokenBucket({ capacity: 100, refillPerSecond: 100 }));
    const nodes = [node(), node(), node()];
    for (const each of nodes) expect(take(each, 100, "key", counter)).toBe(true);
    clock.advance(100);
    for (const each of nodes) take(each, 1, "key", counter);
    clock.advance(100);
    // 300 of 100 are used; 20 came back in 200 ms, of which the first few met a full bucket.
    expect(usedInStore(counter)).toBeGreaterThan(275);
    for (let ms = 0; ms < 1_700; ms += 50) {
      for (const each of nodes) expect(take(each, 1, "key", counter)).toBe(false);
      clock.advance(50);
    }
    clock.advance(200);
    expect(nodes.some((each) => take(each, 1, "key", counter))).toBe(true);
    expect(nodes[2].stats.overshootUnitsMax).toBeGreaterThan(190);
  });

  it("is one call for up to 1,000 keys", () => {
    const sizes: number[] = [];
    class Counting extends ForwardingStore {
      override debit(charges: readonly Charge[]) {
        sizes.push(charges.length);
        return super.debit(charges);
      }
    }
    const store = node(new Counting(inner));
    for (let n = 0; n < 2_500; n++) take(store, 1, `key ${n}`);
    clock.advance(5);
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(store.stats).toMatchObject({ syncs: 3, unitsSynced: 2_500, pendingKeys: 0 });
  });

  it("sends under the current numbers", () => {
    const sent: [units: number, limit: number][] = [];
    class Recording extends ForwardingStore {
      override debit(charges: readonly Charge[]) {
        sent.push(...charges.map((c): [number, number] => [c.cost, c.counter.limit.capacity]));
        return super.debit(charges);
      }
    }
    const store = node(new Recording(inner));
    const larger = counterOf(fixedWindow({ limit: 1_000, windowMs: 3_600_000 }));
    take(store, 100);
    clock.advance(5);
    expect(take(store, 500, "key", larger)).toBe(true);
    clock.advance(100);
    expect(sent).toEqual([
      [100, 100],
      [500, 1_000],
    ]);
    expect(store.peek([charge(0, larger)])[0].remaining).toBe(400);
  });

  it("sends one key once, whichever limiter names its counter", () => {
    const [one, same] = [counterOf(slow), counterOf(slow)];
    const store = node();
    take(store, 1, "key", one);
    clock.advance(1_000);
    take(store, 1, "key", same);
    take(store, 1, "key", one);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([97, 3]);
  });

  it("stops, timer and all, when nothing was asked for", () => {
    let timers = 0;
    const counted: Clock = {
      now: () => clock.now(),
      after: (delayMs, task): CancelTimer => {
        timers++;
        let isOver = false;
        const end = () => {
          if (!isOver) timers--;
          isOver = true;
        };
        const cancel = clock.after(delayMs, () => {
          end();
          task();
        });
        return () => {
          end();
          cancel();
        };
      },
    };
    const store = node(inner, { clock: counted });
    take(store, 1);
    expect(timers).toBe(1);
    clock.advance(1_000);
    const { syncs } = store.stats;
    expect(timers).toBe(0);
    clock.advance(60_000);
    expect(store.stats.syncs).toBe(syncs);
    expect(leftIn(store)).toBe(99);
  });

  it("that is under way is waited for: no second one starts", async () => {
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    take(store, 1);
    for (let n = 0; n < 20; n++) {
      clock.advance(20);
      take(store, 1);
    }
    expect(slowInner.waiting.length).toBe(1);
    await slowInner.answerAll();
    clock.advance(100);
    expect(slowInner.waiting.length).toBe(1);
    await slowInner.answerAll();
    expect(usedInStore()).toBe(21);
    expect(leftIn(store)).toBe(79);
  });

  it("counts what was admitted while it was under way on top of its answer", async () => {
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    take(store, 10);
    clock.advance(5);
    take(store, 20);
    inner.debit([charge(5)]);
    await slowInner.answerAll();
    expect(leftIn(store)).toBe(65);
  });

  it("whose window ended on the way fills no new one", async () => {
    const counter = counterOf(fixedWindow({ limit: 10, windowMs: 1_000 }));
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    clock.advance(990);
    take(store, 10, "key", counter);
    clock.advance(5);
    slowInner.runAll();
    clock.advance(5);
    await slowInner.answerAll();
    expect(take(store, 10, "key", counter)).toBe(true);
  });
});

/** A store whose debits are carried out and answered when the test says so. */
class Delayed extends ForwardingStore {
  waiting: { run: () => readonly CounterStatus[]; answer: () => void }[] = [];

  override debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    let result: readonly CounterStatus[] | undefined;
    const run = () => {
      result ??= super.debit(charges) as readonly CounterStatus[];
      return result;
    };
    return new Promise((resolve) => {
      this.waiting.push({ run, answer: () => resolve(run()) });
    });
  }

  runAll(): void {
    for (const { run } of this.waiting) run();
  }

  async answerAll(): Promise<void> {
    for (const { answer } of this.waiting.splice(0)) answer();
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let n = 0; n < 10; n++) await Promise.resolve();
}

describe("refunds", () => {
  it("a cancel lowers what is to be sent, or is sent as a refund", () => {
    const store = node();
    const { receipts } = store.decide([charge(30)], { hold: true });
    store.settle([{ receipt: receipts[0], kept: 0, nowMs: clock.now() }]);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([100, 0]);

    const held = store.decide([charge(30)], { hold: true });
    clock.advance(100);
    expect(usedInStore()).toBe(30);
    const settling = { receipt: held.receipts[0], kept: 10, nowMs: clock.now() };
    store.settle([settling, settling]);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([90, 10]);
  });

  it("a commit of more is debt that all see", () => {
    const store = node();
    const { receipts } = store.decide([charge(90)], { hold: true });
    clock.advance(100);
    store.settle([{ receipt: receipts[0], kept: 150, nowMs: clock.now() }]);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([0, 150]);
  });

  it("a refund first takes back what was not sent yet, and the rest immediately from the store", () => {
    const store = node();
    take(store, 40);
    clock.advance(5);
    take(store, 10);
    store.refund([charge(25)]);
    expect([leftIn(store), usedInStore()]).toEqual([75, 25]);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([75, 25]);
  });

  it("a reset forgets what was sent and what was not, here immediately and elsewhere after syncMs", () => {
    const [a, b] = [node(), node()];
    take(a, 40);
    take(b, 10);
    clock.advance(100);
    take(a, 20);
    take(b, 1);
    a.reset([charge(0)]);
    expect([leftIn(a), usedInStore()]).toEqual([100, 0]);
    clock.advance(100);
    // What the other admitted and had not sent yet is all that is left of it.
    expect([leftIn(b), usedInStore()]).toEqual([99, 1]);
  });

  it("an answer from before a reset does not undo it", async () => {
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    take(store, 40);
    clock.advance(5);
    slowInner.runAll();
    store.reset([charge(0)]);
    await slowInner.answerAll();
    expect([leftIn(store), usedInStore()]).toEqual([100, 0]);
  });

  it("what a reset forgot is not sent again when its sync failed", async () => {
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    take(store, 40);
    clock.advance(5);
    store.reset([charge(0)]);
    slowInner.waiting.splice(0);
    clock.advance(1_000);
    expect(store.stats.failures).toBe(1);
    clock.advance(100);
    await slowInner.answerAll();
    expect(usedInStore()).toBe(0);
  });

  it("under changed numbers a cancel refunds nothing, here or in the store", () => {
    const larger = counterOf(fixedWindow({ limit: 200, windowMs: 3_600_000 }));
    const store = node();
    const { receipts } = store.decide([charge(80)], { hold: true });
    clock.advance(5);
    take(store, 70, "key", larger);
    store.settle([{ receipt: receipts[0], kept: 0, nowMs: clock.now() }]);
    clock.advance(100);
    expect(usedInStore(larger)).toBe(150);
    expect(take(store, 51, "key", larger)).toBe(false);
  });

  it("charges of one request on the same key are sent together, once", () => {
    const store = node();
    for (let n = 0; n < 2; n++) store.decide([charge(3), charge(4)], { requestId: "r2" });
    store.decide([charge(1), charge(2)]);
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([90, 10]);
  });

  it("a requestId that comes twice is sent once", () => {
    const store = node();
    for (let n = 0; n < 3; n++) store.decide([charge(7)], { requestId: "r1" });
    clock.advance(100);
    expect([leftIn(store), usedInStore()]).toEqual([93, 7]);
  });

  it("a shadow that was refused, and a request that was, send nothing", () => {
    const store = node();
    const other = {
      ...slowCounter,
      part: 1,
      limit: fixedWindow({ limit: 5, windowMs: 3_600_000 }),
    };
    store.decide([charge(6), { ...charge(6, other), shadow: true }]);
    store.decide([charge(3), charge(6, other)]);
    clock.advance(100);
    expect([usedInStore(), usedInStore(other)]).toEqual([6, 0]);
  });
});

describe("blocks", () => {
  it("by another process are learned within a second, and so is their end", () => {
    const [a, b] = [node(), node()];
    const keepAsking = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        take(b, 0);
        clock.advance(50);
      }
    };
    keepAsking(200);
    const forMs = (ms: number) => ({ untilMs: clock.now() + ms, nowMs: clock.now() });
    a.block("test", "key", forMs(60_000));
    expect(take(a, 1)).toBe(false);
    keepAsking(1_200);
    expect(b.decideOne(slowCounter, "key", 1, clock.now())).toMatchObject({
      allowed: false,
      retryAfterMs: 60_000 - 1_200,
    });
    a.unblock("test", "key");
    expect(take(a, 1)).toBe(true);
    keepAsking(1_200);
    expect(take(b, 1)).toBe(true);
  });

  it("that were learned stay while a fallback answers, which does not know them", () => {
    class Away extends ForwardingStore {
      isAway = false;

      override peek(charges: readonly Charge[]) {
        if (!this.isAway) return super.peek(charges);
        const verdicts = inner.peek(charges);
        return verdicts.map(({ blockedMs, ...rest }) => ({ ...rest, source: "fallback" as const }));
      }
    }
    const store = new Away(inner);
    const asked = node(store);
    inner.block("test", "key", { untilMs: clock.now() + 60_000, nowMs: clock.now() });
    take(asked, 1);
    for (const isAway of [false, true]) {
      store.isAway = isAway;
      for (let passed = 0; passed < 1_200; passed += 50) {
        clock.advance(50);
        take(asked, 1);
      }
      expect(take(asked, 1)).toBe(false);
    }
  });

  it("that are set here while others are asked for stay", async () => {
    class SlowPeek extends ForwardingStore {
      override async peek(charges: readonly Charge[]) {
        const verdicts = await super.peek(charges);
        await Promise.resolve();
        return verdicts;
      }
    }
    const store = node(new SlowPeek(inner));
    take(store, 1);
    clock.advance(5);
    store.block("test", "key", { untilMs: clock.now() + 60_000, nowMs: clock.now() });
    await settled();
    expect(take(store, 1)).toBe(false);
  });

  it("are not taken for debt, nor debt for a block", () => {
    const counter = counterOf(tokenBucket({ capacity: 100, refillPerSecond: 100 }));
    const store = node();
    inner.debit([charge(250, counter)]);
    take(store, 1, "key", counter);
    clock.advance(1_480);
    take(store, 1, "key", counter);
    inner.refund([charge(250, counter)]);
    clock.advance(10);
    take(store, 1, "key", counter);
    clock.advance(10);
    expect(take(store, 1, "key", counter)).toBe(true);
  });
});

describe("while the sync fails", () => {
  class Failing extends ForwardingStore {
    mode: "refuse" | "lose" | "throw" | "hang" | "garble" | "work" = "refuse";

    override debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
      if (this.mode === "throw") throw new Error("down");
      if (this.mode === "refuse") return Promise.reject(new Error("down"));
      if (this.mode === "hang") return new Promise(() => {});
      if (this.mode === "garble") return Promise.resolve([]);
      const statuses = super.debit(charges) as readonly CounterStatus[];
      if (this.mode === "lose") return Promise.reject(new Error("cut"));
      return Promise.resolve(statuses);
    }
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await settled();
    }
  }

  it.each(["refuse", "throw", "hang", "garble"] as const)(
    "(%s) it decides alone, keeps what it admitted, and sends it later",
    async (mode) => {
      const store = new Failing(inner);
      store.mode = mode;
      const local = node(store);
      for (let n = 0; n < 30; n++) {
        expect(take(local, 1)).toBe(true);
        await pass(100);
      }
      expect(local.stats.failures).toBeGreaterThan(1);
      expect(local.stats.pendingKeys).toBeLessThanOrEqual(1);
      expect([leftIn(local), usedInStore()]).toEqual([70, 0]);
      expect(take(local, 71)).toBe(false);
      store.mode = "work";
      await pass(1_500);
      expect([leftIn(local), usedInStore()]).toEqual([70, 30]);
      expect(local.stats).toMatchObject({ pendingKeys: 0, unitsSynced: 30 });
    },
  );

  it("units that a slow store counts each time are sent twice at most", async () => {
    class Slow extends Failing {
      override debit(charges: readonly Charge[]) {
        const statuses = inner.debit(charges);
        if (this.mode === "work") return statuses as never;
        return new Promise<never>((resolve) =>
          clock.after(1_100, () => resolve(statuses as never)),
        );
      }
    }
    const store = new Slow(inner);
    const local = node(store);
    expect(take(local, 20)).toBe(true);
    await pass(20_000);
    expect(usedInStore()).toBe(20);
    store.mode = "work";
    await pass(2_500);
    expect(usedInStore()).toBeLessThanOrEqual(40);
  });

  it("the others are assumed to go on for ten syncs, and no longer", async () => {
    const big = counterOf(fixedWindow({ limit: 1_000_000, windowMs: 3_600_000 }));
    const store = new Failing(inner);
    store.mode = "work";
    const local = node(store);
    const others = async (ms: number, perMs: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        take(local, 0, "key", big);
        if (perMs > 0) inner.debit([charge(10 * perMs, big)]);
        await pass(10);
      }
    };
    await others(1_000, 5);
    store.mode = "refuse";
    const left = () => local.peek([charge(0, big)])[0].remaining;
    const before = left();
    await others(500, 0);
    expect(before - left()).toBeGreaterThan(2_000);
    await others(10_000, 0);
    expect(before - left()).toBeLessThan(6_000);
  });

  it("an answer that was lost counts again: early refusals, never an overshoot", async () => {
    const store = new Failing(inner);
    store.mode = "lose";
    const local = node(store);
    take(local, 10);
    await pass(10);
    store.mode = "work";
    await pass(100);
    expect(usedInStore()).toBe(20);
    expect(leftIn(local)).toBe(80);
  });

  it("what was refunded is not refunded twice", async () => {
    const store = new Failing(inner);
    store.mode = "work";
    const local = node(store);
    const { receipts } = local.decide([charge(50)], { hold: true });
    take(local, 30);
    await pass(10);
    store.mode = "lose";
    local.settle([{ receipt: receipts[0], kept: 0, nowMs: clock.now() }]);
    await pass(200);
    store.mode = "work";
    await pass(200);
    expect(usedInStore()).toBe(30);
  });

  it("it remembers at most keysMax keys, and says what it evicted", async () => {
    const local = node(new Failing(inner), { keysMax: 100 });
    for (let n = 0; n < 1_000; n++) take(local, 1, `key ${n}`);
    await pass(200);
    expect(local.stats.pendingKeys).toBeLessThanOrEqual(100);
    expect(local.stats.unitsEvicted).toBe(900);
  });
});

describe("close", () => {
  it("sends once what is left, closes the store, and makes later calls errors", () => {
    let usedAtClose = Number.NaN;
    class Closing extends ForwardingStore {
      override close() {
        usedAtClose = usedInStore();
        return super.close();
      }
    }
    const store = node(new Closing(inner));
    take(store, 1);
    clock.advance(5);
    take(store, 8);
    expect(store.close()).toBeUndefined();
    expect(usedAtClose).toBe(9);
    expect(() => take(store, 1)).toThrow("closed");
    expect(() => leftIn(store)).toThrow("closed");
  });

  it("waits for the sync under way, and ends also when the store fails", async () => {
    const slowInner = new Delayed(inner);
    const store = node(slowInner);
    take(store, 1);
    clock.advance(5);
    take(store, 8);
    const closed = store.close() as Promise<void>;
    slowInner.runAll();
    await slowInner.answerAll();
    expect(slowInner.waiting.length).toBe(1);
    clock.advance(1_000);
    await closed;
    expect(() => inner.debit([charge(0)])).toThrow("closed");
    expect(store.stats.failures).toBe(1);
  });
});

describe("when the others stop", () => {
  it("one process soon has the limit for itself", () => {
    const counter = counterOf(fixedWindow({ limit: 20, windowMs: 1_000 }));
    const [first, ...others] = [node(), node(), node(), node()];
    const admittedIn = (ms: number, nodes: readonly EventualStore[]) => {
      let admitted = 0;
      for (let passed = 0; passed < ms; passed += 5) {
        for (const each of nodes) if (take(each, 1, "key", counter)) admitted++;
        clock.advance(5);
      }
      return admitted;
    };
    admittedIn(3_000, [first, ...others]);
    admittedIn(3_000, [first]);
    expect(admittedIn(5_000, [first])).toBeGreaterThanOrEqual(95);
  });
});

describe("what it says of itself", () => {
  it("declares how much all processes may admit beyond a limit", () => {
    const store = node(inner, { nodes: 5, syncMs: 200 });
    const bucket = tokenBucket({ capacity: 50, refillPerSecond: 10 });
    const meter = leakyBucket({ ratePerSecond: 10, queueSize: 49, mode: "meter" });
    expect(store.overshootMax(bucket)).toBe(4 * (50 + 2));
    expect(store.overshootMax(bucket, 100)).toBe(4 * (50 + 3));
    expect(store.overshootMax(meter)).toBe(4 * (50 + 2));
    expect(store.overshootMax(fixedWindow({ limit: 9, windowMs: 1_000 }))).toBe(36);
    expect(store.overshootMax(quota({ limit: 9, period: "day" }))).toBe(36);
  });

  it("never admits more than that, under any traffic", () => {
    const limit = tokenBucket({ capacity: 20, refillPerSecond: 50 });
    for (let seed = 0; seed < 40; seed++) {
      const random = new SeededRandom(`bound ${seed}`);
      clock = new ManualClock(START_MS);
      inner = memoryStore({ keysMax: 1_000 });
      const nodes = Array.from({ length: random.between(1, 5) }, () => node());
      const bound = eventual(inner, { nodes: nodes.length }).overshootMax(limit);
      let admitted = 0;
      for (let ms = 0; ms < 2_000; ms += 10) {
        for (const each of nodes) {
          const cost = random.between(0, 6);
          if (random.chance(0.4) && take(each, cost, "key", counterOf(limit))) admitted += cost;
        }
        expect(admitted).toBeLessThanOrEqual(20 + 0.05 * ms + bound);
        clock.advance(10);
      }
      const seen = Math.max(...nodes.map(({ stats }) => stats.overshootUnitsMax));
      expect(seen).toBeLessThanOrEqual(bound);
    }
  });

  it("refuses permits and shapers, and never answers later", () => {
    const store = node(new Delayed(inner));
    const shaper = leakyBucket({ ratePerSecond: 1, queueSize: 1 });
    const limiter = createLimiter({ name: "shaper", limit: shaper, store, clock });
    expect(() => limiter.check("key")).toThrow(/can't be leased or eventual.*leakyBucket/);
    const one = concurrency({ limit: 1, permitMs: 1 });
    const permits = createLimiter({ name: "permits", limit: one, store, clock });
    expect(() => permits.acquire("key")).toThrow(/can't be leased.*concurrency/);
    const decided = createLimiter({ limit: slow, store, clock }).check("key");
    expect(isThenable(decided)).toBe(false);
    expect(decided).toMatchObject({ allowed: true, remaining: 99, source: "memory" });
    expect(store.isRemote).toBe(false);
  });

  it.each([
    [{ syncMs: 9 }, "syncMs must be a whole number from 10 to 60000, got 9"],
    [{ syncMs: 60_001 }, "got 60001"],
    [{ nodes: 0 }, "nodes must be a whole number from 1"],
    [{ keysMax: 1.5 }, "keysMax must be a whole number"],
    [{ clock: {} }, "clock must have a function now(), and optionally wall(), got {}"],
    [{ sync: 1 }, 'unknown option "sync"'],
  ])("refuses the options %j", (options, seen) => {
    expect(() => eventual(inner, options as EventualOptions)).toThrow(seen);
  });
});
