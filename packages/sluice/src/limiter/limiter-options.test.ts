// What a limiter hands on to its store with each charge: the policy of its failures, and who asks.

import { afterAll, describe, expect, it, vi } from "vitest";
import { fixedWindow, quota } from "../limits/limits.js";
import { denyCache } from "../stores/deny-cache/deny-cache.js";
import { ForwardingStore } from "../stores/forwarding-store.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { resilient } from "../stores/resilient/resilient.js";
import type { Charge, Counter, Store } from "../stores/store.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";

const limit = fixedWindow({ limit: 5, windowMs: 1_000 });

/** A memory store that notes what it is asked. */
function noting() {
  const store: Store = memoryStore();
  const charges: Charge[] = [];
  const counters: Counter[] = [];
  const decide = store.decide.bind(store);
  const peek = store.peek.bind(store);
  const decideOne = store.decideOne?.bind(store);
  store.decide = (asked, options) => {
    charges.push(...asked);
    return decide(asked, options);
  };
  store.peek = (asked, options) => {
    charges.push(...asked);
    return peek(asked, options);
  };
  store.decideOne = (counter, key, cost, nowMs, blockNowMs) => {
    counters.push(counter);
    return decideOne?.(counter, key, cost, nowMs, blockNowMs) as never;
  };
  return { store, charges, counters };
}

// A fallback without a listener warns, which is not the point here.
vi.spyOn(process, "emitWarning").mockImplementation(() => {});
afterAll(() => {
  vi.restoreAllMocks();
});

describe("caller", () => {
  it("goes with every charge of the request, whatever the verb", () => {
    const { store, charges, counters } = noting();
    const limiter = createLimiter({ limit: [limit, quota({ limit: 9, period: "day" })], store });
    limiter.check("global", { caller: "user:1" });
    limiter.peek("global", { caller: "user:2" });
    limiter.reserve("global", { caller: "user:3" });
    expect(charges.map(({ caller }) => caller)).toEqual(
      ["user:1", "user:2", "user:3"].flatMap((caller) => [caller, caller]),
    );
    expect(counters).toEqual([]);
  });

  it("does not get lost on the fast path of a single limit", () => {
    const { store, charges, counters } = noting();
    const limiter = createLimiter({ limit, store });
    limiter.check("global", { caller: "user:1" });
    expect(charges).toMatchObject([{ key: "global", caller: "user:1" }]);
    limiter.check("global");
    expect(charges).toHaveLength(1);
    expect(counters).toHaveLength(1);
  });

  it("is absent from the charges of a request that has none", () => {
    const { store, charges } = noting();
    createLimiter({ limit, store }).peek("global");
    expect(charges[0]).not.toHaveProperty("caller");
  });
});

describe("onStoreFailure", () => {
  it.each(["open", "closed", "local", "throw"] as const)("%s is passed to the store", (policy) => {
    const { store, counters } = noting();
    createLimiter({ limit, store, onStoreFailure: policy }).check("k");
    expect(counters).toMatchObject([{ onStoreFailure: policy }]);
  });

  it("left out leaves it to the store", () => {
    const { store, counters } = noting();
    createLimiter({ limit, store }).check("k");
    expect(counters[0]).not.toHaveProperty("onStoreFailure");
  });
});

describe("a store behind a network", () => {
  it("that does not answer is answered for, by half of the limit if nothing else is said", async () => {
    const { store, clock } = hanging();
    const limiter = createLimiter({ limit, store, clock });
    const answers = [1, 2, 3].map(() => limiter.check("k"));
    clock.advance(49);
    await expect(Promise.race([...answers, "waiting"])).resolves.toBe("waiting");
    clock.advance(1);
    const decisions = await Promise.all(answers);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(decisions.every(({ source }) => source === "fallback")).toBe(true);
  });

  it("is answered for after the deadline that was given", async () => {
    const { store, clock } = hanging();
    const limiter = createLimiter({ limit, store, clock, onStoreFailure: "closed", timeoutMs: 20 });
    const answer = limiter.check("k");
    clock.advance(20);
    expect(await answer).toMatchObject({ allowed: false, source: "fallback" });
  });

  it("is asked bare under throw, unless there is a deadline", async () => {
    const { store, clock } = hanging();
    const bare = createLimiter({ limit, store, clock, onStoreFailure: "throw" }).check("k");
    const timed = createLimiter({
      ...{ name: "timed", limit, store, clock },
      ...{ onStoreFailure: "throw", timeoutMs: 20 },
    });
    const answer = timed.check("k");
    clock.advance(600_000);
    await expect(answer).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    await expect(Promise.race([bare, "waiting"])).resolves.toBe("waiting");
  });

  it("is known to be gone by all its limiters as soon as by one", async () => {
    const { store, clock, asked } = hanging();
    const one = createLimiter({ limit, store, clock, name: "one" });
    const other = createLimiter({ limit, store, clock, name: "other", onStoreFailure: "open" });
    for (let failures = 0; failures < 5; failures++) {
      const answer = one.check("k");
      clock.advance(50);
      await answer;
    }
    expect(other.check("k")).toMatchObject({ allowed: true, source: "fallback" });
    expect(asked()).toBe(5);
  });

  it("is not closed by a limiter that it was passed to", async () => {
    const { store, clock } = hanging();
    await createLimiter({ limit, store, clock }).close();
    const answer = createLimiter({ limit, store, clock }).check("k");
    clock.advance(50);
    expect(await answer).toMatchObject({ allowed: true });
  });

  it.each([
    ["bare", (store: Store) => store],
    ["resilient", (store: Store, clock: ManualClock) => resilient(store, { clock, timeoutMs: 80 })],
    ["decorated", (store: Store, clock: ManualClock) => denyCache(store, { clock })],
  ])("keeps the deadline of each limiter, %s as it is", async (_, decorate) => {
    const { store: far, clock } = hanging();
    const store = decorate(far, clock);
    const limiter = createLimiter({ limit, store, clock, timeoutMs: 5, onStoreFailure: "closed" });
    const answer = limiter.check("k");
    clock.advance(4);
    const early = await Promise.race([answer, new Promise((r) => setImmediate(r, "waiting"))]);
    expect(early).toBe("waiting");
    clock.advance(1);
    expect(await answer).toMatchObject({ allowed: false, source: "fallback" });
  });

  it("that is resilient already is asked as it is", () => {
    const store = resilient(memoryStore());
    expect(createLimiter({ limit, store, onStoreFailure: "open" }).check("k")).toMatchObject({
      source: "memory",
    });
  });
});

/** A remote store that never answers. */
function hanging() {
  const clock = new ManualClock(1_000_000);
  let count = 0;
  const never = () => {
    count++;
    return new Promise<never>(() => {});
  };
  const store: Store = Object.assign(new ForwardingStore(memoryStore()), {
    decide: never,
    decideOne: never,
  });
  Object.defineProperty(store, "isRemote", { value: true });
  return { store, clock, asked: () => count };
}

describe("an answer that may be a promise", () => {
  it("is a type error where the await is missing", async () => {
    const limiter = createLimiter({ limit, store: memoryStore() as Store });
    // @ts-expect-error: a promise has no such field.
    expect(limiter.check("k").allowed).toBe(true);
    // @ts-expect-error: nor one of a reservation.
    expect(limiter.reserve("k").commit).toBeTypeOf("function");
    expect((await limiter.check("k")).allowed).toBe(true);
  });
});
