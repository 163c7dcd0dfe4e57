// Random traces for property tests. A trace is drawn as symbols ("cost: the whole limit", "wait:
// one millisecond less than retryAfterMs") and made concrete while it runs, because the moments
// at which limiters go wrong depend on what they answered before. It lives outside src, so that
// it is not shipped, and inside the package, where relative imports may reach it.

import fc from "fast-check";
import { algorithmOf } from "../src/algorithms/algorithms.js";
import type { Receipt, Step } from "../src/algorithms/step.js";
import { TIME_MS_MAX } from "../src/base/clock.js";
import type { Limit } from "../src/limits/limits.js";

/** How many traces each property runs. */
export const RUNS = timesFactor(1_000);

/**
 * As many random traces as a test run has time for, times SLUICE_TRACES_FACTOR. `npm test` runs without it; `npm run
 * soak` runs more.
 */
export function timesFactor(traces: number): number {
  return traces * Number(process.env.SLUICE_TRACES_FACTOR ?? 1);
}

/** One symbolic operation; `costOf` and `waitMsOf` say what the numbers stand for. */
export interface Op {
  /** 0 to 15; each test says which verb it means. */
  readonly verb: number;
  readonly cost: number;
  readonly wait: number;
  /** 0 to 4095, a free number. */
  readonly size: number;
}

/** Traces of 5 to `opsMax` operations. One number for each keeps drawing them cheap. */
export function traces(opsMax = 30): fc.Arbitrary<readonly Op[]> {
  const code = fc.noBias(fc.nat({ max: 2 ** 24 - 1 }));
  return fc.array(code, { minLength: 5, maxLength: opsMax, size: "max" }).map((codes) =>
    codes.map((n) => ({
      verb: n & 15,
      cost: (n >> 4) & 15,
      wait: (n >> 8) & 15,
      size: n >> 12,
    })),
  );
}

/** Any start from 1970 to the end of 2100, round ones among them. */
export const startsMs: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 1, 86_400_000, Date.UTC(2024, 1, 29), Date.UTC(2100, 0, 1)),
  fc.nat({ max: Date.UTC(2100, 11, 31) }),
);

/** Runs a property on `RUNS` traces; a failure prints its seed and path. */
export function holds<T>(seed: number, values: fc.Arbitrary<T>, property: (value: T) => void) {
  fc.assert(fc.property(values, property), { seed, numRuns: RUNS });
}

/** Vitest's `expect` is too slow for millions of comparisons. */
export function must(isTrue: boolean, describe: () => string): void {
  if (!isTrue) throw new Error(describe());
}

/** Renders values for a message, Infinity included. */
export function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, part) =>
    typeof part === "bigint" || part === Number.POSITIVE_INFINITY ? String(part) : part,
  );
}

/** The cost that an operation stands for: often 1, sometimes 0, all, more than all, or absurd. */
export function costOf({ cost, size }: Op, limit: number): number {
  if (cost === 0) return 0;
  if (cost <= 5) return 1;
  if (cost <= 7) return 1 + (size % 5);
  if (cost <= 9) return Math.ceil(limit * (size / 4096));
  if (cost === 10) return limit;
  if (cost === 11) return limit + 1;
  if (cost === 12) return Math.ceil(limit / 2);
  if (cost === 13) return Math.max(1, limit - 1);
  return cost === 14 ? Number.MAX_SAFE_INTEGER : Math.ceil(limit / 3);
}

/** What a wait may refer to. */
export interface WaitMarks {
  /** The latest finite retryAfterMs of a refusal. */
  readonly retryMs: number;
  readonly recoveryMs: number;
  /** Until the next window, or something like it. */
  readonly borderMs: number;
}

/** The wait that an operation stands for: none, to a border, to a retry, one less, long idle. */
export function waitMsOf({ wait, size }: Op, marks: WaitMarks): number {
  const { retryMs, recoveryMs, borderMs } = marks;
  if (wait <= 4) return 0;
  if (wait === 5) return 1;
  if (wait === 6) return retryMs;
  if (wait === 7) return Math.max(0, retryMs - 1);
  if (wait === 8) return borderMs;
  if (wait === 9) return Math.max(0, borderMs - 1);
  if (wait <= 11) return Math.floor((recoveryMs / 8) * (size / 4096));
  if (wait === 12) return Math.floor(recoveryMs * (size / 4096));
  if (wait === 13) return recoveryMs;
  return wait === 14 ? 2 * recoveryMs + size : size % 50;
}

/** The time after a wait; the end of 2100 is the last there is. */
export function later(nowMs: number, waitMs: number): number {
  return Math.min(TIME_MS_MAX, nowMs + waitMs);
}

/**
 * What an oracle knows: whether a cost passes at a time, given what was taken. Everything else
 * that a limiter answers follows from it, by asking.
 */
export interface Oracle {
  admits(cost: number, nowMs: number): boolean;
  /** Charges, fitting or not; returns what `refund` takes. */
  take(cost: number, nowMs: number): Taken;
  /** An operator's grant. */
  grant(cost: number, nowMs: number): void;
}

/** A charge as oracles list it. */
export interface Taken {
  atMs: number;
  cost: number;
}

/** A limit, an oracle for it, and where its trace begins. */
export interface Subject {
  readonly limit: Limit;
  readonly oracle: () => Oracle;
  readonly startMs: number;
  /** The length of a window, or of one unit: traces like to stop at its multiples. */
  readonly borderMs: number;
}

/** What a walk has seen at one charge. */
export interface Seen {
  readonly step: Step<unknown>;
  readonly stateBefore: unknown;
  readonly cost: number;
  readonly nowMs: number;
  /** Whether the oracle would have admitted it. It has taken what was admitted. */
  readonly fits: boolean;
  readonly oracle: Oracle;
  readonly limit: Limit;
}

interface Held {
  readonly taken: Taken;
  readonly receipt: Receipt;
}

/** Which verbs a walk uses besides charging. */
export interface WalkVerbs {
  readonly force?: boolean;
  readonly grant?: boolean;
  /** Whether charges are refunded: oracles that list charges shrink the charge itself. */
  readonly refund?: boolean;
}

/** Runs a trace on the pure functions and the oracle side by side. */
export function walk(
  subject: Subject,
  ops: readonly Op[],
  visit: (seen: Seen) => void,
  verbs: WalkVerbs = {},
): void {
  const { limit } = subject;
  const algorithm = algorithmOf(limit);
  const oracle = subject.oracle();
  let state = algorithm.idle;
  let nowMs = subject.startMs;
  let retryMs = 1;
  let held: Held[] = [];
  for (const op of ops) {
    const borderMs = subject.borderMs - (nowMs % subject.borderMs);
    const waitMs = waitMsOf(op, { retryMs, recoveryMs: limit.recoveryMs, borderMs });
    nowMs = later(nowMs, waitMs);
    if (op.verb === 15 && verbs.force) {
      // Debt is remembered up to twice the limit, whatever its numbers; see `debtTicksMax`.
      const share = algorithm.share(state, limit, nowMs);
      const excess = share < 1 ? Math.min(costOf(op, limit.capacity), limit.capacity) : 0;
      state = algorithm.force(state, limit, excess, nowMs);
      oracle.take(excess, nowMs);
    } else if (op.verb === 14 && verbs.grant) {
      const cost = costOf(op, limit.capacity);
      state = algorithm.grant(state, limit, cost, nowMs);
      oracle.grant(cost, nowMs);
      held = [];
    } else if (op.verb >= 12 && verbs.refund && held.length > 0) {
      const [settled] = held.splice(op.size % held.length, 1);
      const kept = op.cost < 8 ? 0 : Math.floor(settled.receipt.cost * (op.size / 4096));
      const settlement = { receipt: settled.receipt, kept };
      state = algorithm.refund(state, limit, settlement, nowMs);
      settled.taken.cost = kept;
    } else {
      const cost = costOf(op, limit.capacity);
      const fits = oracle.admits(cost, nowMs);
      const step = algorithm.charge(state, limit, cost, nowMs);
      if (step.allowed) {
        const taken = oracle.take(cost, nowMs);
        held.push({ taken, receipt: { cost, atMs: nowMs, mark: step.mark, before: step.before } });
      } else if (step.retryAfterMs < Number.POSITIVE_INFINITY) {
        retryMs = step.retryAfterMs;
      }
      visit({ step, stateBefore: state, cost, nowMs, fits, oracle, limit });
      state = step.state;
    }
  }
}

/** An oracle that is a plain list of charges; subclasses say what of it counts. */
export abstract class ListOracle implements Oracle {
  protected charges: Taken[] = [];

  abstract admits(cost: number, nowMs: number): boolean;
  abstract grant(cost: number, nowMs: number): void;

  take(cost: number, nowMs: number): Taken {
    const taken = { atMs: nowMs, cost };
    this.charges.push(taken);
    return taken;
  }

  /** The cost of all charges for which `counts` is true. */
  protected sum(counts: (atMs: number) => boolean): number {
    return this.charges.reduce((sum, { atMs, cost }) => (counts(atMs) ? sum + cost : sum), 0);
  }
}

/** Limits small and large. */
export const limits: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom(1, 2, 1_000_000, 1_000_000_000),
  fc.integer({ min: 1, max: 1_000_000_000 }),
);

/** Windows from a millisecond to a year. */
export const windowsMs: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.constantFrom(1, 7, 1_000, 60_000, 3_600_000, 86_400_000, 2_592_000_000, 31_536_000_000),
  fc.integer({ min: 1, max: 31_536_000_000 }),
);
