// Counters that come and go: what a memory store set aside for a forgotten one is reused for others.

import { describe, expect, it } from "vitest";
import {
  fixedWindow,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import type { Counter } from "../store.js";
import { type MemoryStore, memoryStore } from "./memory-store.js";

describe("a counter that is forgotten", () => {
  const START = 1_000_000;
  const counterOf = (i: number): Counter => ({
    scope: `made up ${i}`,
    part: 0,
    limit:
      i % 2 === 0
        ? fixedWindow({ limit: 5, windowMs: 1_000 })
        : tokenBucket({ capacity: 5, refillPerSecond: 1 }),
  });
  const check = (store: MemoryStore, counter: Counter, key = "k", cost = 1) =>
    store.decideOne(counter, key, cost, START);

  it("makes room for others, so that any number of them can come and go", () => {
    const store = memoryStore({ keysMax: 5_000 });
    const kept = counterOf(0);
    for (let n = 0; n < 5; n++) check(store, kept);
    for (let i = 1; i < 150_000; i++) {
      const counter = counterOf(i);
      expect(check(store, counter)).toMatchObject({ allowed: true, remaining: 4 });
      store.forget(counter);
    }
    expect(check(store, kept).allowed).toBe(false);
    expect(store.stats.keys).toBeLessThan(2_000);
  });

  it("leaves the count to others of its name, and those that come soon after continue it", () => {
    const store = memoryStore();
    const [first, second] = [counterOf(1), counterOf(1)];
    check(store, first, "k", 2);
    check(store, second, "k", 1);
    store.forget(first);
    for (let i = 2; i < 3_000; i++) {
      const other = counterOf(i);
      check(store, other);
      store.forget(other);
    }
    expect(store.peek([{ counter: second, key: "k", cost: 1, nowMs: START }])[0].remaining).toBe(2);
    store.forget(second);
    expect(check(store, counterOf(1))).toMatchObject({ remaining: 1 });
  });

  it("can be settled as long as it is remembered, which keeps no room occupied", () => {
    const store = memoryStore();
    const counter = counterOf(1);
    const charge = { counter, key: "k", cost: 3, nowMs: START };
    const { receipts } = store.decide([charge], { hold: true });
    store.forget(counter);
    store.settle(receipts.map((receipt) => ({ receipt, kept: 1, nowMs: START })));
    expect(check(store, counterOf(1))).toMatchObject({ remaining: 3 });
    const late = counterOf(3);
    const held = store.decide([{ ...charge, counter: late }], { hold: true }).receipts;
    store.forget(late);
    for (let i = 4; i < 3_000; i++) {
      const other = counterOf(i);
      check(store, other);
      store.forget(other);
    }
    store.settle(held.map((receipt) => ({ receipt, kept: 4, nowMs: START })));
    store.settle(held.map((receipt) => ({ receipt, kept: 0, nowMs: START })));
    expect(check(store, counterOf(3))).toMatchObject({ remaining: 3 });
  });

  it("frees the room of its logs and permits", () => {
    const store = memoryStore({ logEntriesMax: 2_000 });
    for (let i = 0; i < 10_000; i++) {
      const limit = slidingWindowLog({ limit: 5, windowMs: 3_600_000 });
      const counter = { scope: `log ${i}`, part: 0, limit };
      expect(check(store, counter).allowed).toBe(true);
      store.forget(counter);
    }
    expect(store.stats.arenaRefusals).toBe(0);
  });

  it("is looked for no more, where a full arena is swept, under an id that another one has by now", () => {
    const store = memoryStore({ keysMax: 2_048, logEntriesMax: 16 });
    const log = slidingWindowLog({ limit: 5, windowMs: 3_600_000 });
    const logs = Array.from({ length: 1_024 }, (_, i) => ({
      scope: `log ${i}`,
      part: 0,
      limit: log,
    }));
    for (const counter of logs) {
      check(store, counter);
      store.forget(counter);
    }
    const limit = slidingWindowCounter({ limit: 5, windowMs: 600_000 });
    const others = Array.from({ length: 1_024 }, (_, i) => ({
      scope: `other ${i}`,
      part: 0,
      limit,
    }));
    for (const counter of others) check(store, counter, "k", 3);
    const last = { scope: "last log", part: 0, limit: log };
    for (let i = 0; i < 40; i++) store.decideOne(last, `key ${i}`, 1, START + 2_000);
    expect(store.stats).toMatchObject({ keys: 1_040, entries: 16, arenaRefusals: 24 + 1_008 });
    for (const counter of others) expect(check(store, counter, "k", 0).remaining).toBe(2);
  });

  it("has a place of its own again when a list names it once more", () => {
    const store = memoryStore();
    const limit = slidingWindowCounter({ limit: 5, windowMs: 600_000 });
    const charges = [0, 1].map((part) => {
      return { counter: { scope: "pair", part, limit }, key: "k", cost: 2, nowMs: START };
    });
    store.decide(charges);
    for (const { counter } of charges) store.forget(counter);
    for (let i = 0; i < 1_022; i++) {
      const other = { scope: `other ${i}`, part: 0, limit };
      check(store, other);
      store.forget(other);
    }
    const log = slidingWindowLog({ limit: 5, windowMs: 3_600_000 });
    for (let i = 0; i < 1_024; i++) check(store, { scope: `log ${i}`, part: 0, limit: log });
    store.decide(charges);
    expect(store.peek(charges).map(({ remaining }) => remaining)).toEqual([3, 3]);
  });
});
