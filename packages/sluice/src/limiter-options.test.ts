// What a limiter hands on to its store with each charge: the policy of its failures, and who asks.

import { describe, expect, it } from "vitest";
import { createLimiter } from "./limiter.js";
import { fixedWindow, quota } from "./limits.js";
import { memoryStore } from "./stores/memory/store.js";
import type { Charge, Counter, Store } from "./stores/store.js";

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

  it("does not get lost on the short way of a single limit", () => {
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
  it.each(["open", "closed", "local", "throw"] as const)("%s is told to the store", (policy) => {
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
