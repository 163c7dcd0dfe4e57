// Limiters for limits that requests bring along: the same for the same, and no more than so many.

import { memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { LIMITS_MAX, Limiters } from "./limiters.js";

function limitersOf(): Limiters {
  return new Limiters({
    store: memoryStore({ keysMax: 20_000 }),
    clock: new ManualClock(Date.UTC(2026, 0, 1)),
  });
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

describe("limits that a caller makes up", () => {
  const [CALLER, OTHER] = [0, 1];
  const oneOf = (limiters: Limiters, i: number) =>
    limiters.of({ fixedWindow: { limit: i + 1, windowMs: 1_000 } }, "made up", CALLER).limiter;

  it("replace only that caller's own least recently used ones, and are never refused", () => {
    const limiters = limitersOf();
    const [mine, theirs] = [CALLER, OTHER].map((token) =>
      limiters.of(bucket(6), `of ${token}`, token),
    );
    mine.limiter.check("k", { cost: 2 });
    theirs.limiter.check("k", { cost: 2 });
    for (let i = 0; i < LIMITS_MAX + 3_000; i++) {
      expect(oneOf(limiters, i).check("k")).toMatchObject({ allowed: true });
      if (i % 1_000 === 0) expect(limiters.of(bucket(6), `of ${CALLER}`, CALLER)).toBe(mine);
    }
    expect(limiters.of(bucket(6), `of ${CALLER}`, CALLER)).toBe(mine);
    // Not used since, but still there: its caller has far fewer.
    expect(limiters.of(bucket(6), `of ${OTHER}`, OTHER)).toBe(theirs);
    expect(theirs.limiter.peek("k")).toMatchObject({ remaining: 4 });
  });

  it("continue their count if they come again soon after they were evicted", () => {
    const limiters = limitersOf();
    const first = oneOf(limiters, 8);
    first.check("k", { cost: 4 });
    for (let i = 10; i < LIMITS_MAX + 20; i++) oneOf(limiters, i);
    const again = oneOf(limiters, 8);
    expect(again).not.toBe(first);
    expect(again.peek("k")).toMatchObject({ remaining: 5 });
  });

  it("count for each of the limits that come in one list", () => {
    const limiters = limitersOf();
    const first = oneOf(limiters, 0);
    for (let i = 0; i < LIMITS_MAX / 8; i++) {
      const list = Array.from({ length: 8 }, (_, n) => bucket(8 * i + n + 1));
      limiters.of(list, "lists", CALLER);
    }
    expect(oneOf(limiters, 0)).not.toBe(first);
  });
});
