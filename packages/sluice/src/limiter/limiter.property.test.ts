// The limiter over a memory store against the pure functions, step by step, and against itself in
// another world: one in which a reservation never happened, without a peek, or in which
// an invalid call was not made. The pure functions have oracles of their own beside the algorithms.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  costOf,
  holds,
  later,
  limits,
  must,
  type Op,
  startsMs,
  stringify,
  traces,
  waitMsOf,
  windowsMs,
} from "../../test/traces.js";
import { combine, type Decision } from "../base/decision.js";
import { SluiceError } from "../base/errors.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { Reference, type ReferenceOutcome } from "../testing/conformance/reference.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";
import type { Limiter } from "./limiter-verbs.js";
import type { Permit, Reservation } from "./reservation.js";

const HOUR_MS = 3_600_000;

const rates = fc.constantFrom(0.1, 7 / 3, 1, 10, 1_000, 99_999, 1_000_000, 1 / 2_592_000);
const smallUnits = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, 1_000, 1_000_000));

const tokenBuckets = fc.tuple(smallUnits, rates).map(([capacity, refillPerSecond]) => {
  const units = refillPerSecond < 0.001 ? Math.min(capacity, 800_000) : capacity;
  return tokenBucket({ capacity: units, refillPerSecond });
});
const leakyBuckets = fc
  .tuple(smallUnits, rates, fc.constantFrom("shape" as const, "meter" as const))
  .map(([units, ratePerSecond, mode]) => {
    const queueSize = Math.min(units - 1, ratePerSecond < 0.001 ? 800_000 : units);
    return leakyBucket({ ratePerSecond, queueSize, mode });
  });
const windowOptions = fc.tuple(limits, windowsMs).map(([limit, windowMs]) => ({ limit, windowMs }));
const quotas = fc
  .tuple(limits, fc.constantFrom("day" as const, "week" as const, "month" as const))
  .map(([limit, period]) => quota({ limit, period, timeZone: "Europe/Paris" }));

const kinds: readonly [string, fc.Arbitrary<Limit>, number][] = [
  ["a token bucket", tokenBuckets, 10_000],
  ["a leaky bucket", leakyBuckets, 11_000],
  ["a fixed window", windowOptions.map(fixedWindow), 12_000],
  ["a sliding window counter", windowOptions.map(slidingWindowCounter), 13_000],
  ["a sliding window log", windowOptions.map(slidingWindowLog), 14_000],
  ["a calendar quota", quotas, 15_000],
];

const KEYS = ["user:1", "user:2"];

function newLimiter(limit: Limit | readonly Limit[], clock = new ManualClock()): Limiter {
  return createLimiter({
    limit,
    clock,
    store: memoryStore({ keysMax: 64, blocksMax: 16, seed: { low: 1, high: 2 } }),
  });
}

function fields(decision: Decision): string {
  const { allowed, limit, remaining, retryAfterMs, resetMs, delayMs } = decision;
  return `${allowed} of ${limit}: ${remaining}, ${retryAfterMs}, ${resetMs}, ${delayMs}`;
}

/** The fullest limit and the longest recovery: what costs and waits of a trace refer to. */
function sizesOf(limits: readonly Limit[]): { units: number; recoveryMs: number } {
  return {
    units: Math.min(...limits.map(({ capacity: limit }) => limit)),
    recoveryMs: Math.max(...limits.map(({ recoveryMs }) => recoveryMs)),
  };
}

interface Held {
  readonly reservation: Reservation;
  readonly cost: number;
  readonly expected: ReferenceOutcome;
}

/** Runs a trace on a limiter and the model; every answer has to be the same. */
function staysEqual(limits: readonly Limit[], startMs: number, ops: readonly Op[]): void {
  const { units, recoveryMs } = sizesOf(limits);
  const clock = new ManualClock(startMs);
  const limiter = newLimiter(limits, clock);
  const model = new Reference(limits);
  let retryMs = 1;
  const held: Held[] = [];
  const same = (verb: string, said: Decision, expected: Decision) => {
    must(fields(said) === fields(expected), () =>
      stringify({ verb, limits, nowMs: clock.now(), said, expected }),
    );
    if (said.retryAfterMs > 0 && said.retryAfterMs < 1e15) retryMs = said.retryAfterMs;
  };
  for (const op of ops) {
    const waitMs = waitMsOf(op, { retryMs, recoveryMs, borderMs: Math.ceil(recoveryMs / 2) });
    clock.set(later(clock.now(), waitMs));
    const nowMs = clock.now();
    const cost = costOf(op, units);
    const key = KEYS[op.size % 8 === 0 ? 1 : 0];
    if (op.verb <= 4) {
      same("check", limiter.check(key, { cost }), model.take(key, cost, nowMs));
    } else if (op.verb <= 6) {
      same("peek", limiter.peek(key, { cost }), model.peek(key, cost, nowMs));
    } else if (op.verb <= 9) {
      const reservation = limiter.reserve(key, { cost, nowMs });
      const expected = model.hold(key, cost, nowMs);
      same("reserve", reservation, expected.decision);
      if (reservation.allowed) held.push({ reservation, cost, expected });
    } else if (op.verb <= 13) {
      const [settled] = held.splice(op.size % Math.max(1, held.length), 1);
      if (settled === undefined) continue;
      const kept = keptOf(op, settled.cost, units);
      if (op.verb === 13) settled.reservation.cancel();
      else settled.reservation.commit(kept);
      model.settle(settled.expected.held, op.verb === 13 ? 0 : kept, nowMs);
    } else {
      if (op.verb === 14) limiter.refund(key, cost);
      else limiter.reset(key);
      if (op.verb === 14) model.refund(key, cost, nowMs);
      else model.reset(key, nowMs);
    }
  }
}

/** What a commit keeps: less, the same, or more than was reserved. */
function keptOf(op: Op, cost: number, units: number): number {
  if (op.cost < 6) return Math.floor(cost * (op.size / 4096));
  return op.cost < 11 ? cost : cost + Math.ceil(units * (op.size / 8192));
}

describe.each(kinds)("a limiter over memory with %s", (_name, kindOfLimit, seed) => {
  const runs = fc.tuple(kindOfLimit, startsMs, traces(12));

  it("answers as the pure functions do, step by step", () => {
    holds(seed + 1, fc.tuple(kindOfLimit, startsMs, traces()), ([limit, startMs, ops]) =>
      staysEqual([limit], startMs, ops),
    );
  });

  it("answers as the pure functions do on a clock that steps back", () => {
    holds(seed + 2, runs, ([limit, startMs, ops]) => {
      const limiter = newLimiter(limit);
      const model = new Reference([limit]);
      let nowMs = startMs;
      for (const op of ops) {
        const marks = { retryMs: 1, recoveryMs: limit.recoveryMs, borderMs: 1 };
        const stepMs = waitMsOf(op, marks);
        nowMs = op.verb < 3 ? Math.max(0, nowMs - stepMs) : later(nowMs, stepMs);
        const cost = costOf(op, limit.capacity);
        const said = limiter.check("k", { cost, nowMs });
        const expected = model.take("k", cost, nowMs);
        must(fields(said) === fields(expected), () =>
          stringify({ limit, cost, nowMs, said, expected }),
        );
      }
    });
  });

  it("is full within its recovery after the clock stepped back", () => {
    const stepsMs = fc.oneof(fc.nat({ max: 1_000 }), fc.nat({ max: 4_000_000_000_000 }));
    holds(seed + 3, fc.tuple(runs, stepsMs), ([[limit, startMs, ops], stepMs]) => {
      const clock = new ManualClock(startMs);
      const limiter = newLimiter(limit, clock);
      for (const op of ops) {
        const marks = { retryMs: 1, recoveryMs: limit.recoveryMs, borderMs: 1 };
        clock.set(later(clock.now(), waitMsOf(op, marks)));
        limiter.check("k", { cost: costOf(op, limit.capacity) });
      }
      const backMs = Math.max(0, clock.now() - stepMs);
      clock.set(backMs);
      limiter.check("k");
      if (backMs + limit.recoveryMs > Date.UTC(2100, 11, 31)) return;
      clock.advance(limit.recoveryMs);
      const { remaining } = limiter.peek("k");
      must(remaining === limit.capacity, () => stringify({ limit, backMs, stepMs, remaining }));
    });
  });

  it("has paid a debt at the latest when the clock has made up for a step back", () => {
    const stepsMs = fc.integer({ min: 1, max: 10 * HOUR_MS });
    holds(seed + 4, fc.tuple(kindOfLimit, startsMs, stepsMs), ([limit, startMs, stepMs]) => {
      const clock = new ManualClock(startMs);
      const limiter = newLimiter(limit, clock);
      limiter.reserve("k").commit(limit.capacity + 1);
      const before = limiter.peek("k");
      clock.set(Math.max(0, startMs - stepMs));
      const after = limiter.check("k");
      const boundMs = Math.max(before.resetMs, limit.recoveryMs) + stepMs;
      must(after.resetMs <= boundMs, () => stringify({ limit, startMs, stepMs, before, after }));
    });
  });

  it("changes nothing by peeking", () => {
    holds(seed + 5, runs, ([limit, startMs, ops]) => {
      const quiet = newLimiter(limit);
      const peeked = newLimiter(limit);
      let nowMs = startMs;
      for (const op of ops) {
        const marks = { retryMs: 1, recoveryMs: limit.recoveryMs, borderMs: 1 };
        nowMs = later(nowMs, waitMsOf(op, marks));
        const cost = costOf(op, limit.capacity);
        peeked.peek("k", { cost: op.size, nowMs });
        const foretold = peeked.peek("k", { cost, nowMs });
        const said = peeked.check("k", { cost, nowMs });
        const expected = quiet.check("k", { cost, nowMs });
        const describe = () => stringify({ limit, cost, nowMs, foretold, said, expected });
        must(fields(said) === fields(expected), describe);
        must(foretold.allowed === said.allowed, describe);
        must(foretold.retryAfterMs === said.retryAfterMs, describe);
      }
    });
  });

  it("refuses a blocked key for exactly as long as it is blocked, at no cost", () => {
    holds(seed + 6, runs, ([limit, startMs, ops]) => {
      const forMs = 1 + ops[0].size;
      const limiter = newLimiter(limit);
      const used = costOf(ops[1], limit.capacity);
      limiter.check("k", { cost: used, nowMs: startMs });
      const free = limiter.peek("k", { nowMs: startMs });
      limiter.block("k", forMs, { nowMs: startMs });
      const blocked = limiter.check("k", { nowMs: startMs });
      const describe = () => stringify({ limit, used, forMs, free, blocked });
      must(!blocked.allowed && blocked.remaining === 0, describe);
      must(blocked.retryAfterMs === Math.max(forMs, free.retryAfterMs), describe);
      must(!limiter.check("k", { nowMs: startMs + forMs - 1 }).allowed, describe);
      const ended = limiter.check("k", { nowMs: startMs + forMs });
      must(ended.allowed === forMs >= free.retryAfterMs, describe);
    });
  });

  it("shows a blocked key the time until its quota is back, not more", () => {
    holds(seed + 7, runs, ([limit, startMs, ops]) => {
      const forMs = 1 + ops[0].size;
      const limiter = newLimiter(limit);
      limiter.check("k", { cost: costOf(ops[1], limit.capacity), nowMs: startMs });
      const free = limiter.peek("k", { nowMs: startMs });
      limiter.block("k", forMs, { nowMs: startMs });
      const resetMs = Math.max(forMs, free.resetMs);
      const checked = limiter.check("k", { nowMs: startMs });
      must(checked.resetMs === resetMs, () => stringify({ limit, forMs, free, checked }));
    });
  });

  it("forgets everything at a reset, and a block at unblock", () => {
    holds(seed + 8, runs, ([limit, startMs, ops]) => {
      const limiter = newLimiter(limit);
      for (const op of ops) {
        limiter.check("k", { cost: costOf(op, limit.capacity), nowMs: startMs });
      }
      limiter.block("k", Number.POSITIVE_INFINITY, { nowMs: startMs });
      limiter.reset("k", { nowMs: startMs });
      const blocked = limiter.peek("k", { nowMs: startMs });
      limiter.unblock("k", { nowMs: startMs });
      const { remaining, resetMs } = limiter.peek("k", { nowMs: startMs });
      const describe = () => stringify({ limit, blocked, remaining, resetMs });
      must(!blocked.allowed && blocked.retryAfterMs === Number.POSITIVE_INFINITY, describe);
      must(remaining === limit.capacity && resetMs === 0, describe);
    });
  });
});

describe("several limits on one limiter", () => {
  const anyLimit = fc.oneof(...kinds.map(([, limit]) => limit));
  const severals = fc.array(anyLimit, { minLength: 2, maxLength: 4 });
  const runs = fc.tuple(severals, startsMs, traces(16));

  it("are charged all or not at all, and answer as the pure functions do", () => {
    holds(20_001, runs, ([limits, startMs, ops]) => staysEqual(limits, startMs, ops));
  });

  it("are left as they were by a refusal", () => {
    holds(20_003, runs, ([limits, startMs, ops]) => {
      const { units, recoveryMs } = sizesOf(limits);
      const asked = newLimiter(limits);
      const unasked = newLimiter(limits);
      let nowMs = startMs;
      for (const op of ops) {
        nowMs = later(nowMs, waitMsOf(op, { retryMs: 1, recoveryMs, borderMs: 1 }));
        const at = { cost: costOf(op, units), nowMs };
        const said = asked.check("k", at);
        if (!said.allowed) continue;
        const expected = unasked.check("k", at);
        must(fields(said) === fields(expected), () => stringify({ limits, at, said, expected }));
      }
    });
  });

  it("pass at the longest retryAfterMs and not one millisecond before", () => {
    holds(20_002, runs, ([limits, startMs, ops]) => {
      const { units, recoveryMs } = sizesOf(limits);
      const limiter = newLimiter(limits);
      let nowMs = startMs;
      let retryMs = 1;
      for (const op of ops) {
        nowMs = later(nowMs, waitMsOf(op, { retryMs, recoveryMs, borderMs: 1 }));
        const cost = costOf(op, units);
        const { allowed, retryAfterMs } = limiter.check("k", { cost, nowMs });
        if (allowed) continue;
        const describe = () => stringify({ limits, cost, nowMs, retryAfterMs });
        must((retryAfterMs === Number.POSITIVE_INFINITY) === cost > units, describe);
        if (retryAfterMs > Date.UTC(2100, 11, 31) - nowMs) continue;
        retryMs = retryAfterMs;
        const early = limiter.peek("k", { cost, nowMs: nowMs + retryAfterMs - 1 });
        const retry = limiter.peek("k", { cost, nowMs: nowMs + retryAfterMs });
        must(retryAfterMs > 0 && retry.allowed && !early.allowed, describe);
      }
    });
  });
});

describe("permits over memory", () => {
  const limitsOf = fc.tuple(limits, windowsMs, tokenBuckets).map(([limit, permitMs, rate]) => ({
    permits: concurrency({ limit, permitMs }),
    rate,
  }));
  const runs = fc.tuple(limitsOf, startsMs, traces(20));

  it("are as many as are neither released nor expired", () => {
    holds(21_001, runs, ([{ permits }, startMs, ops]) => {
      const limiter = newLimiter(permits);
      const out: { cost: number; untilMs: number; permit: Permit }[] = [];
      let nowMs = startMs;
      for (const op of ops) {
        const marks = { retryMs: 1, recoveryMs: permits.permitMs, borderMs: permits.permitMs };
        nowMs = later(nowMs, waitMsOf(op, marks));
        const atMs = nowMs;
        if (op.verb > 9 && out.length > 0) {
          const [released] = out.splice(op.size % out.length, 1);
          released.permit.release({ nowMs });
          // A second release must not free another request's permit.
          released.permit.release({ nowMs });
          continue;
        }
        const cost = costOf(op, permits.capacity);
        const live = out.filter(({ untilMs }) => untilMs > atMs);
        const used = live.reduce((sum, held) => sum + held.cost, 0);
        const permit = limiter.acquire("k", { cost, nowMs });
        const describe = () => stringify({ permits, cost, used, nowMs, permit });
        must(permit.allowed === used + cost <= permits.capacity, describe);
        const left = permits.capacity - used - (permit.allowed ? cost : 0);
        must(permit.remaining === left, describe);
        if (permit.allowed) out.push({ cost, untilMs: nowMs + permits.permitMs, permit });
      }
    });
  });

  it("are taken only with the charge of every other limit, and released alone", () => {
    holds(21_002, runs, ([{ permits, rate }, nowMs, ops]) => {
      const limiter = newLimiter([permits, rate]);
      const model = new Reference([permits, rate]);
      const rateModel = new Reference([rate]);
      const taken: Permit[] = [];
      for (const op of ops) {
        const cost = costOf(op, Math.min(permits.capacity, rate.capacity));
        const permit = limiter.acquire("k", { cost, nowMs });
        const expected = model.take("k", cost, nowMs);
        must(fields(permit) === fields(expected), () =>
          stringify({ permits, rate, cost, permit, expected }),
        );
        if (permit.allowed) rateModel.take("k", cost, nowMs);
        taken.push(permit);
      }
      for (const permit of taken) permit.release({ nowMs });
      const said = limiter.peek("k", { nowMs });
      const noPermits = new Reference([permits]).peek("k", 1, nowMs);
      const expected = combine([noPermits, rateModel.peek("k", 1, nowMs)]);
      must(fields(said) === fields(expected), () => stringify({ permits, rate, said, expected }));
    });
  });
});

interface OpenReservation {
  readonly a: Reservation;
  readonly b: Reservation;
}

/**
 * Two worlds that differ in one reservation, which the second never makes. Everything that the
 * first admits happens in both. When the reservation is cancelled, the first has no more left.
 */
function neverMints(limit: Limit, startMs: number, ops: readonly Op[], verbs: Verbs): void {
  const made = newLimiter(limit);
  const never = newLimiter(limit);
  let nowMs = startMs;
  let reserved: Reservation | undefined;
  const open: OpenReservation[] = [];
  const history: unknown[] = [];
  for (const [index, op] of ops.entries()) {
    const marks = { retryMs: 1, recoveryMs: limit.recoveryMs, borderMs: 1 };
    const stands = verbs.ageZero && reserved !== undefined;
    // Half of most waits, so that the reservation is still partly unpaid when it is cancelled.
    if (!stands) nowMs = later(nowMs, Math.floor(waitMsOf(op, marks) / (op.wait === 14 ? 1 : 2)));
    const cost = costOf(op, limit.capacity);
    const at = { cost, nowMs };
    if (index >= 2 && reserved === undefined) {
      const reservation = made.reserve("k", at);
      history.push({ mine: reservation.allowed, ...at });
      if (reservation.allowed && cost > 0) reserved = reservation;
    } else if (op.verb <= 7) {
      const { allowed } = made.check("k", at);
      history.push({ check: allowed, ...at });
      if (allowed) must(never.check("k", at).allowed, () => stringify({ limit, history }));
    } else if (op.verb <= 10 && verbs.reservations) {
      const a = made.reserve("k", at);
      history.push({ reserve: a.allowed, ...at });
      if (!a.allowed) continue;
      const b = never.reserve("k", at);
      must(b.allowed, () => stringify({ limit, history }));
      open.push({ a, b });
    } else if (op.verb <= 12 && open.length > 0) {
      const [{ a, b }] = open.splice(op.size % open.length, 1);
      history.push({ cancel: true, nowMs });
      a.cancel({ nowMs });
      b.cancel({ nowMs });
    } else if (op.verb >= 13 && verbs.operators) {
      history.push(op.verb === 15 ? { reset: true, nowMs } : { refund: cost, nowMs });
      for (const limiter of [made, never]) {
        if (op.verb === 15) limiter.reset("k", { nowMs });
        else limiter.refund("k", cost, { nowMs });
      }
    }
  }
  reserved?.cancel({ nowMs });
  const a = made.peek("k", { nowMs });
  const b = never.peek("k", { nowMs });
  must(a.remaining <= b.remaining && a.resetMs >= b.resetMs, () =>
    stringify({ limit, history, cancelledMineAt: nowMs, made: a, never: b }),
  );
  must(!verbs.ageZero || fields(a) === fields(b), () =>
    stringify({ limit, history, made: a, never: b }),
  );
}

interface Verbs {
  readonly operators?: boolean;
  readonly reservations?: boolean;
  /** Whether time stands still once the reservation was made: then all of it comes back. */
  readonly ageZero?: boolean;
}

describe.each(kinds)(
  "cancelling under %s never brings more than not reserving",
  (_name, kindOfLimit, seed) => {
    const runs = fc.tuple(kindOfLimit, startsMs, traces(16));

    it("among charges", () => {
      holds(seed + 11, runs, ([limit, startMs, ops]) => neverMints(limit, startMs, ops, {}));
    });

    it("with other reservations cancelled in between", () => {
      const verbs = { reservations: true };
      holds(seed + 12, runs, ([limit, startMs, ops]) => neverMints(limit, startMs, ops, verbs));
    });

    it("with an operator's refunds and resets in between", () => {
      const verbs = { operators: true };
      holds(seed + 13, runs, ([limit, startMs, ops]) => neverMints(limit, startMs, ops, verbs));
    });

    it("and exactly as much at age 0, with other reservations cancelled in between", () => {
      const verbs = { reservations: true, ageZero: true };
      holds(seed + 15, runs, ([limit, startMs, ops]) => {
        // A shaper refunds only the last place in its queue.
        if (limit.algorithm === "leakyBucket" && limit.mode === "shape") return;
        neverMints(limit, startMs, ops, verbs);
      });
    });

    it("with refunds, resets and other reservations in between", () => {
      const verbs = { operators: true, reservations: true };
      holds(seed + 14, runs, ([limit, startMs, ops]) => neverMints(limit, startMs, ops, verbs));
    });
  },
);

describe("invalid input", () => {
  const limiter = () => newLimiter(tokenBucket({ capacity: 5, refillPerSecond: 1 }));
  const bad = (value: unknown) => value as never;
  const costs = [-1, Number.NaN, "1", 2 ** 53, 0.5, Number.POSITIVE_INFINITY, true, 1n, {}];
  const keys = ["", 5, null, undefined, {}, ["a"], "x".repeat(65_537)];
  const times = [-1, Number.NaN, "5", Number.POSITIVE_INFINITY, Date.UTC(2101, 0, 1), null];

  function refusesWith(code: string, call: (limiter: Limiter) => unknown): void {
    const tried = limiter();
    tried.check("k", { cost: 2, nowMs: 0 });
    const before = fields(tried.peek("k", { nowMs: 0 }));
    let seen: unknown;
    try {
      call(tried);
    } catch (error) {
      seen = error;
    }
    expect(seen).toBeInstanceOf(SluiceError);
    expect((seen as SluiceError).code).toBe(code);
    expect(fields(tried.peek("k", { nowMs: 0 }))).toBe(before);
  }

  it.each(costs)("cost %o is an error of the catalogue and touches nothing", (given) => {
    const cost = bad(given);
    const nowMs = 0;
    for (const call of [
      (l: Limiter) => l.check("k", { cost }),
      (l: Limiter) => l.check("k", { cost, nowMs }),
      (l: Limiter) => l.peek("k", { cost }),
      (l: Limiter) => l.peek("k", { cost, nowMs }),
      (l: Limiter) => l.reserve("k", { cost }),
      (l: Limiter) => l.reserve("k", { cost, nowMs }),
      (l: Limiter) => l.refund("k", cost),
      (l: Limiter) => l.refund("k", cost, { nowMs }),
    ]) {
      refusesWith("SLUICE_COST_INVALID", call);
    }
  });

  it.each(costs)("commit of %o is an error and leaves the reservation open", (given) => {
    const tried = limiter();
    const reservation = tried.reserve("k", { cost: 5, nowMs: 0 });
    expect(() => reservation.commit(bad(given), { nowMs: 0 })).toThrow(SluiceError);
    expect(tried.peek("k", { nowMs: 0 }).remaining).toBe(0);
    reservation.commit(2, { nowMs: 0 });
    expect(tried.peek("k", { nowMs: 0 }).remaining).toBe(3);
  });

  it.each(keys)("key %o is an error of the catalogue and touches nothing", (given) => {
    const key = bad(given);
    const nowMs = 0;
    for (const call of [
      (l: Limiter) => l.check(key),
      (l: Limiter) => l.check(key, { nowMs }),
      (l: Limiter) => l.peek(key, { nowMs }),
      (l: Limiter) => l.reserve(key, { nowMs }),
      (l: Limiter) => l.refund(key, 1, { nowMs }),
      (l: Limiter) => l.block(key, 1, { nowMs }),
      (l: Limiter) => l.unblock(key, { nowMs }),
      (l: Limiter) => l.reset(key, { nowMs }),
    ]) {
      refusesWith("SLUICE_KEY_INVALID", call);
    }
  });

  it.each(times)("nowMs %o is an error of the catalogue and touches nothing", (given) => {
    const nowMs = bad(given);
    for (const call of [
      (l: Limiter) => l.check("k", { nowMs }),
      (l: Limiter) => l.peek("k", { nowMs }),
      (l: Limiter) => l.reserve("k", { nowMs }),
      (l: Limiter) => l.reserve("q", { nowMs: 0 }).commit(2, { nowMs }),
      (l: Limiter) => l.reserve("q", { nowMs: 0 }).cancel({ nowMs }),
      (l: Limiter) => l.refund("k", 1, { nowMs }),
      (l: Limiter) => l.block("k", 1, { nowMs }),
      (l: Limiter) => l.unblock("k", { nowMs }),
      (l: Limiter) => l.reset("k", { nowMs }),
    ]) {
      refusesWith("SLUICE_TIME_INVALID", call);
    }
  });

  it.each([0, -1, Number.NaN, "1", 0.5, 2 ** 53, undefined])(
    "a block of %o ms is an error of the catalogue and touches nothing",
    (forMs) => {
      refusesWith("SLUICE_DURATION_INVALID", (l) => l.block("k", bad(forMs)));
      refusesWith("SLUICE_DURATION_INVALID", (l) => l.block("k", bad(forMs), { nowMs: 0 }));
    },
  );

  it.each([null, 5, "now", { now: 5 }])("options %o in place of a time are an error", (given) => {
    for (const call of [
      (l: Limiter) => l.check("k", bad(given)),
      (l: Limiter) => l.peek("k", bad(given)),
      (l: Limiter) => l.reserve("k", bad(given)),
      (l: Limiter) => l.reserve("q").commit(1, bad(given)),
      (l: Limiter) => l.refund("k", 1, bad(given)),
      (l: Limiter) => l.block("k", 1, bad(given)),
      (l: Limiter) => l.unblock("k", bad(given)),
      (l: Limiter) => l.reset("k", bad(given)),
    ]) {
      refusesWith("SLUICE_OPTION_INVALID", call);
    }
  });
});

describe("a wall clock that runs apart", () => {
  it("does not prolong a block", () => {
    let nowMs = 10 * HOUR_MS;
    const clock = { now: () => nowMs, wall: () => nowMs - HOUR_MS };
    const limit = [
      tokenBucket({ capacity: 5, refillPerSecond: 1 }),
      quota({ limit: 5, period: "day" }),
    ];
    const limiter = createLimiter({ limit, clock });
    limiter.block("k", 1_000);
    expect(limiter.check("k").retryAfterMs).toBe(1_000);
    nowMs += 1_000;
    expect(limiter.check("k").allowed).toBe(true);
  });
});
