// The verbs of a limiter as a user meets them, and everything it refuses to take.

import { describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowLog,
  tokenBucket,
} from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";

const START_MS = Date.UTC(2026, 0, 1);

function setup<L extends Parameters<typeof createLimiter>[0]["limit"]>(limit: L) {
  const clock = new ManualClock(START_MS);
  return { clock, limiter: createLimiter({ limit, clock }) };
}

describe("check", () => {
  it("answers synchronously with everything a caller needs", () => {
    const { limiter } = setup(tokenBucket({ capacity: 5, refillPerSecond: 10 }));
    expect(limiter.check("user:42", { cost: 3 })).toEqual({
      allowed: true,
      limit: 5,
      remaining: 2,
      retryAfterMs: 0,
      resetMs: 300,
      delayMs: 0,
      source: "memory",
    });
    expect(limiter.check("user:42", { cost: 3 })).toEqual({
      allowed: false,
      limit: 5,
      remaining: 2,
      retryAfterMs: 100,
      resetMs: 300,
      delayMs: 0,
      source: "memory",
    });
  });

  it("says of a cost above the limit that it can never pass, and takes nothing", () => {
    const { limiter } = setup(fixedWindow({ limit: 5, windowMs: 1000 }));
    const decision = limiter.check("k", { cost: 6 });
    expect(decision).toMatchObject({
      allowed: false,
      remaining: 5,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(limiter.check("k", { cost: 5 }).allowed).toBe(true);
  });

  it("asks and takes nothing at cost 0", () => {
    const limiter = createLimiter({ limit: fixedWindow({ limit: 1, windowMs: 1000 }) });
    expect(limiter.check("k", { cost: 0 })).toMatchObject({
      allowed: true,
      remaining: 1,
      resetMs: 0,
    });
    expect(limiter.check("k").allowed).toBe(true);
    expect(limiter.check("k", { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("is the same with an explicit time", () => {
    const limiter = createLimiter({ limit: tokenBucket({ capacity: 1, refillPerSecond: 1 }) });
    expect(limiter.check("k", { nowMs: START_MS }).allowed).toBe(true);
    expect(limiter.check("k", { nowMs: START_MS + 999 }).allowed).toBe(false);
    expect(limiter.check("k", { nowMs: START_MS + 1000.9 }).allowed).toBe(true);
  });

  it("reads the clock if the time is undefined", () => {
    const { limiter, clock } = setup(tokenBucket({ capacity: 1, refillPerSecond: 1 }));
    expect(limiter.check("k", { nowMs: undefined }).allowed).toBe(true);
    clock.advance(999);
    expect(limiter.check("k", { nowMs: undefined }).allowed).toBe(false);
    clock.advance(1);
    expect(limiter.check("k", { nowMs: undefined }).allowed).toBe(true);
  });
});

describe("several limits", () => {
  const limits = [
    tokenBucket({ capacity: 10, refillPerSecond: 10 }),
    fixedWindow({ limit: 15, windowMs: 3_600_000 }),
  ];

  it("are decided all or nothing", () => {
    const { limiter, clock } = setup(limits);
    expect(limiter.check("k", { cost: 10 })).toMatchObject({
      allowed: true,
      limit: 10,
      remaining: 0,
    });
    clock.advance(1000);
    // The bucket would pass 10, the window only 5: nothing is taken from either.
    expect(limiter.check("k", { cost: 10 })).toMatchObject({
      allowed: false,
      limit: 15,
      remaining: 5,
    });
    expect(limiter.check("k", { cost: 5 })).toMatchObject({
      allowed: true,
      limit: 15,
      remaining: 0,
    });
  });

  it("answer with the smallest share left, and the longest wait of those that refuse", () => {
    const { limiter } = setup(limits);
    expect(limiter.check("k", { cost: 1 })).toMatchObject({ limit: 10, remaining: 9 });
    limiter.check("k", { cost: 9 });
    expect(limiter.check("k", { cost: 6 })).toMatchObject({
      allowed: false,
      retryAfterMs: 3_600_000,
    });
  });

  it("may be the same limit twice, counted apart", () => {
    const { limiter } = setup([limits[1], limits[1]]);
    expect(limiter.check("k", { cost: 15 }).allowed).toBe(true);
    expect(limiter.check("k").allowed).toBe(false);
  });
});

describe("peek", () => {
  it("says what check would answer and what is left now, and changes nothing", () => {
    const { limiter } = setup(leakyBucket({ ratePerSecond: 10, queueSize: 2 }));
    limiter.check("k");
    for (let i = 0; i < 3; i++) {
      expect(limiter.peek("k")).toMatchObject({ allowed: true, remaining: 2, delayMs: 100 });
      expect(limiter.peek("k", { cost: 3 })).toMatchObject({ allowed: false, retryAfterMs: 100 });
    }
    expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: 1, delayMs: 100 });
  });
});

describe("reserve", () => {
  it("holds the cost, and commit refunds the unused part", () => {
    const { limiter } = setup(fixedWindow({ limit: 100, windowMs: 60_000 }));
    const reservation = limiter.reserve("k", { cost: 50 });
    expect(reservation).toMatchObject({ allowed: true, remaining: 50 });
    reservation.commit(20);
    expect(limiter.peek("k").remaining).toBe(80);
  });

  it("lets a commit above what was reserved become debt", () => {
    const { limiter, clock } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    limiter.reserve("k", { cost: 5 }).commit(25);
    expect(limiter.peek("k")).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 16_000 });
    clock.advance(15_999);
    expect(limiter.check("k").allowed).toBe(false);
    clock.advance(1);
    expect(limiter.check("k").allowed).toBe(true);
  });

  it("refunds everything on cancel, once, and may be cancelled in a finally", () => {
    const { limiter } = setup(slidingWindowLog({ limit: 10, windowMs: 1000 }));
    const reservation = limiter.reserve("k", { cost: 6 });
    reservation.cancel();
    reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(10);
    const code = "SLUICE_ALREADY_SETTLED";
    expect(() => reservation.commit(1)).toThrow(expect.objectContaining({ code }));
  });

  it("holds nothing when refused", () => {
    const { limiter } = setup(fixedWindow({ limit: 1, windowMs: 1000 }));
    const refused = limiter.reserve("k", { cost: 2 });
    expect(refused.allowed).toBe(false);
    refused.cancel();
    const code = "SLUICE_NOT_ADMITTED";
    expect(() => refused.commit(1)).toThrow(expect.objectContaining({ code }));
    expect(limiter.peek("k").remaining).toBe(1);
  });

  it("is not settled by a call that throws", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 1000 }));
    const reservation = limiter.reserve("k", { cost: 5 });
    const code = "SLUICE_TIME_INVALID";
    expect(() => reservation.cancel({ nowMs: -1 })).toThrow(expect.objectContaining({ code }));
    reservation.cancel();
    expect(limiter.peek("k").remaining).toBe(10);
  });

  it("is not settled by a commit that is no cost", () => {
    const { limiter } = setup(fixedWindow({ limit: 10, windowMs: 1000 }));
    const reservation = limiter.reserve("k", { cost: 5 });
    expect(() => reservation.commit(-1)).toThrow(
      expect.objectContaining({ code: "SLUICE_COST_INVALID" }),
    );
    reservation.commit(2);
    expect(limiter.peek("k").remaining).toBe(8);
  });

  it("settles at an explicit time", () => {
    const limiter = createLimiter({ limit: fixedWindow({ limit: 10, windowMs: 1000 }) });
    const late = limiter.reserve("k", { cost: 5, nowMs: 0 });
    late.cancel({ nowMs: 1000 });
    expect(limiter.peek("k", { nowMs: 999 }).remaining).toBe(5);
    const early = limiter.reserve("k", { cost: 5, nowMs: 2000 });
    early.commit(1, { nowMs: 2999 });
    expect(limiter.peek("k", { nowMs: 2999 }).remaining).toBe(9);
  });
});

describe("refund, block, reset", () => {
  it("refunds up to full and no further", () => {
    const { limiter } = setup(tokenBucket({ capacity: 10, refillPerSecond: 1 }));
    limiter.check("k", { cost: 6 });
    expect(limiter.refund("k", 2)).toBe(2);
    expect(limiter.peek("k").remaining).toBe(6);
    expect(limiter.refund("k", 1000)).toBe(4);
    expect(limiter.refund("never seen")).toBe(0);
    expect(limiter.peek("k").remaining).toBe(10);
  });

  it("blocks a key until the very millisecond, under every limit of the limiter", () => {
    const { limiter, clock } = setup([
      fixedWindow({ limit: 5, windowMs: 1000 }),
      quota({ limit: 5, period: "month" }),
    ]);
    limiter.block("k", 60_000);
    expect(limiter.check("k")).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 60_000,
    });
    expect(limiter.check("other").allowed).toBe(true);
    clock.advance(59_999);
    expect(limiter.check("k")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.check("k")).toMatchObject({ allowed: true, remaining: 4 });
  });

  it("blocks for good until unblocked", () => {
    const { limiter, clock } = setup(fixedWindow({ limit: 5, windowMs: 1000 }));
    limiter.block("k", Number.POSITIVE_INFINITY);
    clock.advance(86_400_000 * 3650);
    expect(limiter.check("k")).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(limiter.unblock("k")).toBe(true);
    expect(limiter.unblock("k")).toBe(false);
    expect(limiter.check("k").allowed).toBe(true);
  });

  it("says how long the block lasts, also where the limit makes the caller wait longer", () => {
    const { limiter } = setup(fixedWindow({ limit: 1, windowMs: 1000 }));
    limiter.check("k");
    expect(limiter.check("k").blockedMs).toBeUndefined();
    limiter.block("k", 10);
    expect(limiter.check("k")).toMatchObject({ retryAfterMs: 1000, blockedMs: 10 });
  });

  it("forgets what was used on reset, but not the block", () => {
    const { limiter } = setup(fixedWindow({ limit: 5, windowMs: 1000 }));
    limiter.check("k", { cost: 5 });
    limiter.block("k", 10);
    limiter.reset("k");
    expect(limiter.check("k").allowed).toBe(false);
    limiter.unblock("k");
    expect(limiter.check("k", { cost: 5 }).allowed).toBe(true);
  });

  it("takes an explicit time", () => {
    const limiter = createLimiter({ limit: fixedWindow({ limit: 5, windowMs: 1000 }) });
    limiter.check("k", { cost: 5, nowMs: 10 });
    limiter.refund("k", 2, { nowMs: 20 });
    expect(limiter.peek("k", { nowMs: 30 }).remaining).toBe(2);
    limiter.block("k", 5, { nowMs: 40 });
    expect(limiter.check("k", { nowMs: 44 }).allowed).toBe(false);
    expect(limiter.unblock("k", { nowMs: 44 })).toBe(true);
    expect(limiter.check("k", { nowMs: 44 }).allowed).toBe(true);
    limiter.block("k", 5, { nowMs: 40 });
    expect(limiter.unblock("k", { nowMs: 45 })).toBe(false);
    limiter.reset("k", { nowMs: 45 });
    expect(limiter.peek("k", { nowMs: 45 }).remaining).toBe(5);
  });
});

describe("acquire", () => {
  it("holds a place until released, once", () => {
    const { limiter } = setup(concurrency({ limit: 2, permitMs: 1000 }));
    const first = limiter.acquire("k");
    limiter.acquire("k");
    expect(limiter.acquire("k")).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 1000,
    });
    first.release();
    first.release();
    expect(limiter.acquire("k").allowed).toBe(true);
    expect(limiter.acquire("k").allowed).toBe(false);
  });

  it("is released by a bare callback", () => {
    const { limiter } = setup(concurrency({ limit: 1, permitMs: 1000 }));
    const { release } = limiter.acquire("k");
    release();
    expect(limiter.acquire("k").allowed).toBe(true);
  });

  it.each([true, "closed", null, new Error("reset")])(
    "is released by an event that passes %o",
    (argument) => {
      const { limiter } = setup(concurrency({ limit: 1, permitMs: 1000 }));
      const { release } = limiter.acquire("k");
      release(argument as object);
      expect(limiter.acquire("k").allowed).toBe(true);
    },
  );

  it("frees the permit of a holder that died", () => {
    const { limiter, clock } = setup(concurrency({ limit: 1, permitMs: 1000 }));
    const dead = limiter.acquire("k");
    clock.advance(999);
    expect(limiter.acquire("k")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.acquire("k").allowed).toBe(true);
    dead.release();
    expect(limiter.acquire("k").allowed).toBe(false);
  });

  it("charges rate limits beside it, and releases only the permit", () => {
    const { limiter } = setup([
      concurrency({ limit: 1, permitMs: 1000 }),
      fixedWindow({ limit: 2, windowMs: 60_000 }),
    ]);
    limiter.acquire("k").release();
    limiter.acquire("k").release();
    expect(limiter.acquire("k")).toMatchObject({ allowed: false, limit: 2 });
  });

  it("starts a permit's time after the delay of a shaper", () => {
    const { limiter, clock } = setup([
      concurrency({ limit: 2, permitMs: 1000 }),
      leakyBucket({ ratePerSecond: 1, queueSize: 5 }),
    ]);
    limiter.acquire("k");
    expect(limiter.acquire("k")).toMatchObject({ allowed: true, delayMs: 1000 });
    clock.advance(1999);
    expect(limiter.peek("k", { cost: 2 }).allowed).toBe(false);
    clock.advance(1);
    expect(limiter.peek("k", { cost: 2 }).allowed).toBe(true);
  });

  it("takes weighted places and has explicit times", () => {
    const limiter = createLimiter({ limit: concurrency({ limit: 5, permitMs: 1000 }) });
    const heavy = limiter.acquire("k", { cost: 4, nowMs: 0 });
    expect(limiter.acquire("k", { cost: 2, nowMs: 1 }).allowed).toBe(false);
    heavy.release({ nowMs: 2 });
    expect(limiter.acquire("k", { cost: 5, nowMs: 3 }).allowed).toBe(true);
  });

  it("is the only way through a concurrency limit, and needs one", () => {
    const { limiter } = setup(concurrency({ limit: 2, permitMs: 1000 }));
    for (const use of [
      () => limiter.check("k"),
      () => limiter.reserve("k"),
      () => limiter.refund("k"),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: "SLUICE_ACQUIRE_ONLY" }));
    }
    const rate = setup(fixedWindow({ limit: 2, windowMs: 1000 })).limiter;
    expect(() => rate.acquire("k")).toThrow(
      expect.objectContaining({ code: "SLUICE_NOTHING_TO_ACQUIRE" }),
    );
  });
});

describe("input", () => {
  const { limiter } = setup(tokenBucket({ capacity: 5, refillPerSecond: 1 }));
  const any = limiter as unknown as Record<string, (...args: unknown[]) => unknown>;
  const wrong: [string, () => unknown, string, string][] = [
    ...[-1, Number.NaN, "1", 2 ** 53, 0.5, Number.POSITIVE_INFINITY, null, 1n, {}].map(
      (cost): [string, () => unknown, string, string] => [
        `cost ${String(cost)}`,
        () => any.check("k", { cost: cost ?? "null" }),
        "SLUICE_COST_INVALID",
        "got",
      ],
    ),
    ...["", 5, null, undefined, {}, ["k"], "x".repeat(65_537)].map(
      (key): [string, () => unknown, string, string] => [
        `key ${String(key).slice(0, 10)}`,
        () => any.check(key),
        "SLUICE_KEY_INVALID",
        "got",
      ],
    ),
    ["nowMs -1", () => any.check("k", { nowMs: -1 }), "SLUICE_TIME_INVALID", "got -1"],
    ["nowMs null", () => any.check("k", { nowMs: null }), "SLUICE_TIME_INVALID", "got null"],
    ["a number for a time", () => any.refund("k", 1, 5), "SLUICE_OPTION_INVALID", "got 5"],
    [
      "a cost in the options of refund",
      () => any.refund("k", 1, { cost: 2 }),
      "SLUICE_OPTION_INVALID",
      'unknown option "cost"',
    ],
    ["options for a cost", () => any.refund("k", { cost: 2 }), "SLUICE_COST_INVALID", "got"],
    ["a number for options", () => any.check("k", 5), "SLUICE_OPTION_INVALID", "got 5"],
    ["a number for peek", () => any.peek("k", 5), "SLUICE_OPTION_INVALID", "got 5"],
    ["null for options", () => any.reserve("k", null), "SLUICE_OPTION_INVALID", "got null"],
    ["forMs 0", () => any.block("k", 0), "SLUICE_DURATION_INVALID", "got 0"],
    ["forMs text", () => any.block("k", "1h"), "SLUICE_DURATION_INVALID", 'got "1h"'],
    [
      "a long requestId",
      () => any.check("k", { requestId: "x".repeat(257) }),
      "SLUICE_REQUEST_ID_INVALID",
      "got",
    ],
    [
      "an empty requestId",
      () => any.check("k", { requestId: "" }),
      "SLUICE_REQUEST_ID_INVALID",
      'got ""',
    ],
    [
      "an empty caller",
      () => any.check("k", { caller: "" }),
      "SLUICE_KEY_INVALID",
      'got "" as caller',
    ],
    ["null as options", () => any.check("k", null), "SLUICE_OPTION_INVALID", "got null"],
    [
      "a caller that is too long",
      () => any.peek("k", { caller: "c".repeat(65_537) }),
      "SLUICE_KEY_INVALID",
      "65537 characters as caller",
    ],
    ["a refund of -1", () => any.refund("k", -1), "SLUICE_COST_INVALID", "got -1"],
  ];

  it.each(wrong)(
    "refuses %s, says what was seen, and leaves the state as it was",
    (_name, use, code, words) => {
      expect(use).toThrow(expect.objectContaining({ code }));
      expect(use).toThrow(words);
      expect(limiter.peek("k").remaining).toBe(5);
    },
  );

  const limit = tokenBucket({ capacity: 5, refillPerSecond: 1 });

  it.each([
    ["no limit", {}],
    ["a plain object as limit", { limit: { capacity: 5, refillPerSecond: 1 } }],
    ["no limits", { limit: [] }],
    ["an empty name", { limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }), name: "" }],
    ["an invalid store", { limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }), store: {} }],
    ["an invalid clock", { limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }), clock: Date }],
    ["a clock with an invalid wall", { limit, clock: { now: (): number => 0, wall: 5 } }],
    ["a misspelt option", { limit, clok: 5 }],
    ["an invalid policy", { limit, onStoreFailure: "ignore" }],
    ["a deadline of nothing", { limit, timeoutMs: 0 }],
    ["a deadline of minutes", { limit, timeoutMs: 60_001 }],
    [
      "a look-alike of a limit",
      { limit: Object.freeze({ ...limit, fullTicks: Number.POSITIVE_INFINITY }) },
    ],
    ["a list with a hole", { limit: new Array(1) }],
    ["nothing", undefined],
  ])("refuses to make a limiter of %s", (_name, options) => {
    expect(() => createLimiter(options as never)).toThrow(
      expect.objectContaining({ code: "SLUICE_OPTION_INVALID" }),
    );
  });

  it("refuses a clock that returns no time", () => {
    const limit = tokenBucket({ capacity: 5, refillPerSecond: 1 });
    const broken = createLimiter({ limit, clock: { now: () => Number.NaN } });
    expect(() => broken.check("k")).toThrow(
      expect.objectContaining({ code: "SLUICE_TIME_INVALID" }),
    );
  });
});

describe("close", () => {
  it("ends the limiter and leaves a store that was passed in alone", () => {
    const store = memoryStore();
    const limit = fixedWindow({ limit: 5, windowMs: 1000 });
    const one = createLimiter({ limit, store, name: "one" });
    const other = createLimiter({ limit, store, name: "other" });
    const reservation = one.reserve("k");
    one.close();
    for (const use of [() => one.check("k"), () => one.peek("k"), () => one.block("k", 1)]) {
      expect(use).toThrow(expect.objectContaining({ code: "SLUICE_CLOSED" }));
    }
    expect(other.check("k").allowed).toBe(true);
    // What is out can still be settled.
    reservation.cancel();
    expect(createLimiter({ limit, store, name: "one" }).peek("k").remaining).toBe(5);
  });

  it("lets a finally release what the limiter's own store took with it", () => {
    const limiter = createLimiter({ limit: concurrency({ limit: 1, permitMs: 1000 }) });
    const permit = limiter.acquire("k");
    limiter.close();
    expect(() => permit.release()).not.toThrow();
  });
});
