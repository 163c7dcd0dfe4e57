// Token and leaky buckets against oracles that know neither debt nor arrival times. The token
// bucket's is the promise itself: a cost passes if no interval that ends now would hold more than
// capacity + rate × T, tried for every interval in BigInt. The leaky bucket's is a list of
// departures. Both count in fractions of whole numbers, so they round nothing.

import fc from "fast-check";
import { describe, it } from "vitest";
import { itKeepsEveryGuarantee, itRecoversFromStepBack } from "../../test/guarantees.js";
import {
  holds,
  must,
  type Oracle,
  type Subject,
  startsMs,
  stringify,
  traces,
  walk,
} from "../../test/traces.js";
import { leakyBucket, tokenBucket } from "../limits/limits.js";
import { algorithmOf } from "./algorithms.js";
import { UNITS_MAX } from "./numbers.js";

interface ExactRate {
  /** As the user writes it, if it is written per second. */
  readonly perSecond?: number;
  readonly amount: number;
  readonly everyMs: number;
}

// The fraction that each awkward number is read as (see `toFraction`), written by hand.
const awkwardRates: readonly ExactRate[] = [
  { perSecond: 0.1, amount: 1, everyMs: 10_000 },
  { perSecond: 7 / 3, amount: 7, everyMs: 3_000 },
  { perSecond: 1 / 3, amount: 1, everyMs: 3_000 },
  { perSecond: 100 / 60, amount: 5, everyMs: 3_000 },
  { perSecond: Math.PI, amount: 80_143_857, everyMs: 25_510_582_000 },
  { perSecond: 99_999, amount: 99_999, everyMs: 1_000 },
  { perSecond: 999_983, amount: 999_983, everyMs: 1_000 },
  { perSecond: 1_000_000, amount: 1_000_000, everyMs: 1_000 },
  { perSecond: 1 / 2_592_000, amount: 1, everyMs: 2_592_000_000 },
  { perSecond: 1e-6, amount: 1, everyMs: 1_000_000_000 },
  { perSecond: 12.5, amount: 25, everyMs: 2_000 },
];

const perSecondRates: fc.Arbitrary<ExactRate> = fc.oneof(
  fc.constantFrom(...awkwardRates),
  fc
    .integer({ min: 1, max: 1_000_000 })
    .map((perSecond) => ({ perSecond, amount: perSecond, everyMs: 1_000 })),
);

const refillRates: fc.Arbitrary<ExactRate> = fc
  .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 2_592_000_000 }))
  .map(([amount, everyMs]) => ({ amount, everyMs }));

const capacities: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(1, 2, 1_000_000, 1_000_000_000),
  fc.integer({ min: 1, max: 1_000_000_000 }),
);

/** As many units as can be counted exactly at this rate. */
function fitting(units: number, { amount, everyMs }: ExactRate): number {
  let [a, b] = [amount, everyMs];
  while (b > 0) [a, b] = [b, a % b];
  return Math.max(1, Math.min(units, Math.floor(UNITS_MAX / (everyMs / a))));
}

/** Charges in BigInt, in units × everyMs, so that a refill of a millisecond is `amount`. */
class IntervalOracle implements Oracle {
  readonly #capacity: bigint;
  readonly #amount: bigint;
  readonly #everyMs: bigint;
  #charges: { atMs: bigint; cost: bigint }[] = [];

  constructor(capacity: number, { amount, everyMs }: ExactRate) {
    this.#amount = BigInt(amount);
    this.#everyMs = BigInt(everyMs);
    this.#capacity = BigInt(capacity) * this.#everyMs;
  }

  admits(cost: number, nowMs: number): boolean {
    return BigInt(cost) * this.#everyMs <= this.#room(BigInt(nowMs));
  }

  take(cost: number, nowMs: number) {
    this.#charges.push({ atMs: BigInt(nowMs), cost: BigInt(cost) * this.#everyMs });
    return { atMs: nowMs, cost };
  }

  grant(cost: number, nowMs: number): void {
    // What the past still takes away, less the grant, is one charge of now.
    const lacking = this.#capacity - this.#room(BigInt(nowMs)) - BigInt(cost) * this.#everyMs;
    this.#charges = lacking > 0n ? [{ atMs: BigInt(nowMs), cost: lacking }] : [];
  }

  /** The least that any interval ending now leaves free. */
  #room(nowMs: bigint): bigint {
    let room = this.#capacity;
    let spent = 0n;
    for (let i = this.#charges.length - 1; i >= 0; i--) {
      const { atMs, cost } = this.#charges[i];
      spent += cost;
      const left = this.#capacity + this.#amount * (nowMs - atMs) - spent;
      if (left < room) room = left;
    }
    return room;
  }
}

interface Run {
  readonly first: bigint;
  count: bigint;
}

/** Departures as runs of units `everyMs` apart, in milliseconds × amount. */
class DepartureOracle implements Oracle {
  readonly #queueSize: bigint;
  readonly #amount: bigint;
  readonly #apart: bigint;
  readonly #runs: Run[] = [];

  constructor(queueSize: number, { amount, everyMs }: ExactRate) {
    this.#queueSize = BigInt(queueSize);
    this.#amount = BigInt(amount);
    this.#apart = BigInt(everyMs);
  }

  admits(cost: number, nowMs: number): boolean {
    const now = BigInt(nowMs) * this.#amount;
    const mine = { first: this.#nextDeparture(now), count: BigInt(cost) };
    const waiting = [...this.#runs, mine].reduce((sum, run) => sum + this.#waiting(run, now), 0n);
    return waiting <= this.#queueSize;
  }

  take(cost: number, nowMs: number) {
    const first = this.#nextDeparture(BigInt(nowMs) * this.#amount);
    if (cost > 0) this.#runs.push({ first, count: BigInt(cost) });
    return { atMs: nowMs, cost };
  }

  /** Takes the latest departures out of the queue. */
  grant(cost: number): void {
    let left = BigInt(cost);
    for (let run = this.#runs.at(-1); run !== undefined && left > 0n; run = this.#runs.at(-1)) {
      const taken = left < run.count ? left : run.count;
      left -= taken;
      run.count -= taken;
      if (run.count === 0n) this.#runs.pop();
    }
  }

  /** When a request that comes now leaves, in milliseconds from now. */
  delayMs(nowMs: number): number {
    const now = BigInt(nowMs) * this.#amount;
    return Number(this.#nextDeparture(now) - now) / Number(this.#amount);
  }

  #nextDeparture(now: bigint): bigint {
    const last = this.#runs.at(-1);
    const free = last === undefined ? 0n : last.first + last.count * this.#apart;
    return free > now ? free : now;
  }

  /** How many units of a run leave later than now. */
  #waiting(run: Run, now: bigint): bigint {
    if (now < run.first) return run.count;
    const gone = (now - run.first) / this.#apart + 1n;
    return gone < run.count ? run.count - gone : 0n;
  }
}

const tokenBuckets: fc.Arbitrary<Subject> = fc
  .tuple(fc.oneof(perSecondRates, refillRates), capacities, startsMs)
  .map(([rate, units, startMs]) => {
    const capacity = fitting(units, rate);
    const { perSecond, amount, everyMs } = rate;
    const limit =
      perSecond === undefined
        ? tokenBucket({ capacity, refill: { amount, everyMs } })
        : tokenBucket({ capacity, refillPerSecond: perSecond });
    const borderMs = Math.ceil(everyMs / amount);
    return { limit, oracle: () => new IntervalOracle(capacity, rate), startMs, borderMs };
  });

function leakyBuckets(mode: "shape" | "meter"): fc.Arbitrary<Subject> {
  return fc.tuple(perSecondRates, capacities, startsMs).map(([rate, units, startMs]) => {
    const queueSize = fitting(units, rate) - 1;
    const { perSecond = 1, amount, everyMs } = rate;
    const limit = leakyBucket({ ratePerSecond: perSecond, queueSize, mode });
    const borderMs = Math.ceil(everyMs / amount);
    return { limit, oracle: () => new DepartureOracle(queueSize, rate), startMs, borderMs };
  });
}

const kinds: readonly [string, fc.Arbitrary<Subject>, number][] = [
  ["a token bucket", tokenBuckets, 1_000],
  ["a leaky bucket that shapes", leakyBuckets("shape"), 2_000],
  ["a leaky bucket that meters", leakyBuckets("meter"), 3_000],
];

describe.each(kinds)("%s", (_name, subjects, seed) => {
  itKeepsEveryGuarantee({ subjects, seed, verbs: { grant: true } });

  itRecoversFromStepBack({ subjects, seed });
});

describe("a token bucket", () => {
  it("admits at most capacity + rate × T in any interval T", () => {
    holds(1_010, fc.tuple(tokenBuckets, traces()), ([subject, ops]) => {
      const { limit } = subject;
      if (limit.algorithm !== "tokenBucket") throw new Error("not a token bucket");
      const admitted: { atMs: bigint; cost: bigint }[] = [];
      walk(subject, ops, ({ step, cost, nowMs }) => {
        if (step.allowed) admitted.push({ atMs: BigInt(nowMs), cost: BigInt(cost) });
      });
      const amount = BigInt(limit.refill.amount);
      const everyMs = BigInt(limit.refill.everyMs);
      for (const [from, first] of admitted.entries()) {
        let spent = 0n;
        for (const { atMs, cost } of admitted.slice(from)) {
          spent += cost;
          const bound = BigInt(limit.capacity) * everyMs + amount * (atMs - first.atMs);
          must(spent * everyMs <= bound, () => stringify({ limit, admitted }));
        }
      }
    });
  });
});

describe("a token bucket in debt", () => {
  it("admits at retryAfterMs and not before, however deep the debt that it remembers", () => {
    const debts = fc.tuple(tokenBuckets, fc.double({ min: 0, max: 1, noNaN: true }));
    holds(1_011, debts, ([{ limit }, share]) => {
      if (limit.algorithm !== "tokenBucket") throw new Error("not a token bucket");
      const algorithm = algorithmOf(limit);
      const cost = Math.floor((limit.debtTicksMax / limit.ticksPerUnit) * share);
      const state = algorithm.force(algorithm.idle, limit, cost, 0);
      const { retryAfterMs } = algorithm.charge(state, limit, limit.capacity, 0);
      const owed = BigInt(cost) * BigInt(limit.refill.everyMs);
      const amount = BigInt(limit.refill.amount);
      const exactMs = Number((owed + amount - 1n) / amount);
      must(retryAfterMs === exactMs, () => stringify({ limit, cost, retryAfterMs, exactMs }));
    });
  });
});

describe("a leaky bucket that shapes", () => {
  it("lets requests leave exactly 1/rate apart", () => {
    holds(2_010, fc.tuple(leakyBuckets("shape"), traces()), ([subject, ops]) => {
      const oracle = subject.oracle() as DepartureOracle;
      walk(subject, ops, ({ step, cost, nowMs, limit }) => {
        // A cost of 0 takes no place in the queue, so it waits for none.
        const delayMs = step.allowed && cost > 0 ? oracle.delayMs(nowMs) : 0;
        must(step.delayMs === delayMs, () => stringify({ limit, cost, nowMs, step, delayMs }));
        if (step.allowed) oracle.take(cost, nowMs);
      });
    });
  });

  it("refunds a place in the queue only while no request is queued behind it", () => {
    holds(2_011, fc.tuple(leakyBuckets("shape"), fc.nat({ max: 5 })), ([{ limit }, behind]) => {
      if (limit.capacity < behind + 2) return;
      const algorithm = algorithmOf(limit);
      const first = algorithm.charge(algorithm.idle, limit, 1, 0);
      const last = algorithm.charge(first.state, limit, behind, 0);
      const receipt = { cost: 1, atMs: 0, mark: first.mark, before: first.before };
      const settlement = { receipt, kept: 0 };
      const settled = algorithm.refund(last.state, limit, settlement, 0);
      const remaining = behind === 0 ? limit.capacity : last.remaining;
      const seen = algorithm.charge(settled, limit, 0, 0).remaining;
      must(seen === remaining, () => stringify({ limit, behind, seen, remaining }));
    });
  });
});

describe("a leaky bucket that meters", () => {
  it("never delays", () => {
    holds(3_010, fc.tuple(leakyBuckets("meter"), traces()), ([subject, ops]) =>
      walk(subject, ops, ({ step }) => must(step.delayMs === 0, () => stringify(step))),
    );
  });
});
