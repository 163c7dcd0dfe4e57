// Limiters for limits that requests bring along: the same for the same, and no more than this many.

import { memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { LIMITS_MAX, Limiters } from "./limiters.js";

function limitersOf(warn?: (message: string) => void): Limiters {
  const core = {
    store: memoryStore({ keysMax: 20_000 }),
    clock: new ManualClock(Date.UTC(2026, 0, 1)),
  };
  return new Limiters(core, warn);
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

describe("limits without a name", () => {
  it("are counted apart by their numbers", () => {
    const limiters = limitersOf();
    expect(limiters.of("5/minute").limiter.check("k", { cost: 5 })).toMatchObject({
      allowed: true,
    });
    expect(limiters.of("100/minute").limiter.check("k")).toMatchObject({ remaining: 99 });
    expect(limiters.of("5/minute").limiter.check("k")).toMatchObject({ allowed: false });
  });

  it("are counted together if the same numbers are written in another way", () => {
    const limiters = limitersOf();
    limiters.of({ fixedWindow: { limit: 5, windowMs: "1m" } }).limiter.check("k", { cost: 2 });
    const again = { fixedWindow: { limit: 5, windowMs: 60_000 } };
    expect(limiters.of(again).limiter.check("k")).toMatchObject({ remaining: 2 });
  });

  it("never meet limits with a name, whatever the name is", () => {
    const limiters = limitersOf();
    limiters.of(bucket(5)).limiter.check("k", { cost: 5 });
    for (const name of ["default", "inline", "#", "undefined"]) {
      expect(limiters.of(bucket(5), name).limiter.check("k")).toMatchObject({ remaining: 4 });
    }
  });
});

describe("limits of one name with other numbers", () => {
  it("take over what was used, also while the old ones are in use", () => {
    const limiters = limitersOf();
    limiters.of(bucket(5), "login").limiter.check("k", { cost: 3 });
    expect(limiters.of(bucket(10), "login").limiter.check("k")).toMatchObject({ remaining: 6 });
    expect(limiters.of(bucket(5), "login").limiter.check("k")).toMatchObject({ remaining: 0 });
  });

  it("are reported once for each name, and never where only the notation differs", () => {
    const messages: string[] = [];
    const limiters = limitersOf((message) => messages.push(message));
    limiters.of({ fixedWindow: { limit: 5, windowMs: "1m" } }, "search");
    limiters.of({ fixedWindow: { limit: 5, windowMs: 60_000 } }, "search");
    limiters.of(bucket(5));
    limiters.of(bucket(6));
    expect(messages).toEqual([]);
    for (let capacity = 5; capacity < 10; capacity++) limiters.of(bucket(capacity), "login");
    expect(messages).toEqual([
      expect.stringMatching(/^limits named "login" came with different numbers.*name of its own$/),
    ]);
  });

  it("are reported for no more than a hundred names", () => {
    const messages: string[] = [];
    const limiters = limitersOf((message) => messages.push(message));
    for (let i = 0; i < 150; i++) {
      for (const capacity of [1, 2]) limiters.of(bucket(capacity), `made up ${i}`);
    }
    expect(messages).toHaveLength(100);
  });
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
    // Which of the two used it first makes no difference.
    const [shared] = [CALLER, OTHER].map((token) => limiters.of(bucket(7), "of both", token));
    for (let i = 0; i < LIMITS_MAX + 3_000; i++) {
      expect(oneOf(limiters, i).check("k")).toMatchObject({ allowed: true });
      if (i % 1_000 === 0) expect(limiters.of(bucket(6), `of ${CALLER}`, CALLER)).toBe(mine);
    }
    expect(limiters.of(bucket(6), `of ${CALLER}`, CALLER)).toBe(mine);
    // Not used since, but still there: its caller has far fewer.
    expect(limiters.of(bucket(6), `of ${OTHER}`, OTHER)).toBe(theirs);
    expect(theirs.limiter.peek("k")).toMatchObject({ remaining: 4 });
    expect(limiters.of(bucket(7), "of both", OTHER)).toBe(shared);
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
