// Limiters for limits that requests bring along: the same for the same, and no more than so many.

import { memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, it } from "vitest";
import { Limiters } from "./limiters.js";

function limitersOf(): Limiters {
  return new Limiters({ store: memoryStore(), clock: new ManualClock(Date.UTC(2026, 0, 1)) });
}

const bucket = (capacity: number) => ({ tokenBucket: { capacity, refillPerSecond: 1 } });

it("finds the same limiter for the same name and numbers, and another for any other", () => {
  const limiters = limitersOf();
  const first = limiters.of(bucket(5), "login");
  expect(limiters.of(bucket(5), "login")).toBe(first);
  const others: [unknown, string?][] = [
    [bucket(6), "login"],
    [bucket(5), "other"],
    [bucket(5)],
    [[bucket(5)], "login"],
    [{ tokenBucket: { capacity: 5, refill: { amount: 1, everyMs: 1_000 } } }, "login"],
    [{ fixedWindow: { limit: 5, windowMs: 1_000 } }, "login"],
    ["5/second", "login"],
    [["5/second", bucket(5)], "login"],
  ];
  for (const [limit, name] of others) {
    const other = limiters.of(limit, name);
    expect(other).not.toBe(first);
    expect(limiters.of(structuredClone(limit), name)).toBe(other);
    expect(limiters.of(bucket(5), "login")).toBe(first);
  }
});

it("never takes a limit that can't be used for the one before", () => {
  const limiters = limitersOf();
  limiters.of(bucket(5));
  for (const limit of [
    { ...bucket(5), more: 1 },
    {},
    [],
    null,
    { tokenBucket: {} },
    [bucket(5), 1],
  ]) {
    expect(() => limiters.of(limit)).toThrow();
  }
});

it("knows how long permits last", () => {
  const limiters = limitersOf();
  expect(limiters.of("5/minute").permitMs).toBe(0);
  const both = ["5/minute", { concurrency: { limit: 1, permitMs: "10s" } }];
  expect(limiters.of(both).permitMs).toBe(10_000);
});

it("keeps a thousand, those that were used last, and goes on counting under one that it forgot", () => {
  const limiters = limitersOf();
  const first = limiters.of(bucket(5), "first");
  const second = limiters.of(bucket(5), "second");
  second.limiter.check("k", { cost: 2 });
  for (let i = 0; i < 999; i++) {
    limiters.of(bucket(5), `name-${i}`);
    expect(limiters.of(bucket(5), "first")).toBe(first);
  }
  const again = limiters.of(bucket(5), "second");
  expect(again).not.toBe(second);
  expect(again.limiter.peek("k")).toMatchObject({ remaining: 3 });
});
