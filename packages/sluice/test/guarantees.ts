// Guarantees that every algorithm gives, each as a function that a property test runs on its own
// subjects: against an oracle where one is needed, against the algorithm's own answers at other
// moments where those have to agree with each other.

import fc from "fast-check";
import { it } from "vitest";
import { algorithmOf } from "../src/algorithms/algorithms.js";
import type { Receipt } from "../src/algorithms/step.js";
import type { Limit } from "../src/limits/limits.js";
import {
  costOf,
  holds,
  later,
  must,
  type Op,
  type Seen,
  type Subject,
  stringify,
  traces,
  type WalkVerbs,
  waitMsOf,
  walk,
} from "./traces.js";

type Trace = readonly [Subject, readonly Op[]];

/** What the guarantees of one algorithm are tried on. */
export interface Trial {
  readonly subjects: fc.Arbitrary<Subject>;
  /** Each guarantee adds its number to it: a failure replays alone. */
  readonly seed: number;
  /** What happens in traces beside charges; commits above what was reserved always do. */
  readonly verbs: WalkVerbs;
  /** How long traces are; default 30 operations. */
  readonly opsMax?: number;
  /**
   * A charge opened the window, and its refund does not move the window: later charges end sooner than
   * had it not happened. Default false.
   */
  readonly windowStays?: boolean;
}

/** Registers the guarantees that every algorithm gives, each as a test. */
export function itKeepsEveryGuarantee(trial: Trial): void {
  const { subjects, seed, verbs, opsMax, windowStays = false } = trial;
  const runs = fc.tuple(subjects, traces(opsMax));
  const withDebt = { ...verbs, force: true };

  it("admits what fits the bound, and refuses only beyond it", () => {
    holds(seed + 1, runs, (run) => admitsWhatFits(run, verbs));
  });

  it("carries a commit above what was reserved as debt, exactly", () => {
    holds(seed + 2, runs, (run) => admitsWhatFits(run, withDebt));
  });

  it("shows as remaining the largest whole cost that still passes", () => {
    holds(seed + 3, runs, (run) => countsWhatRemains(run, withDebt));
  });

  it("admits at retryAfterMs, refuses one millisecond before, and says Infinity if never", () => {
    holds(seed + 4, runs, (run) => saysWhenToRetry(run, withDebt));
  });

  it("is full at resetMs and not one millisecond before", () => {
    holds(seed + 5, runs, (run) => saysWhenFull(run, withDebt));
  });

  it("refuses for free", () => {
    holds(seed + 6, runs, (run) => refusesForFree(run, { force: true }));
  });

  if (!windowStays) {
    it("never refunds more than had the charge not happened", () => {
      holds(seed + 7, runs, (run) => refundsNoMore(run, { ageZero: false }));
    });
  }

  it("refunds exactly what was unused at age 0", () => {
    holds(seed + 8, runs, (run) => refundsNoMore(run, { ageZero: true }));
  });
}

/** Registers the guarantee of those whose state is brought forward after a step back. */
export function itRecoversFromStepBack({ subjects, seed, opsMax }: Omit<Trial, "verbs">): void {
  it("locks no caller out for longer than its recovery when the clock steps back", () => {
    const stepsMs = fc.oneof(fc.nat({ max: 100 }), fc.nat({ max: 4_000_000_000_000 }));
    holds(seed + 9, fc.tuple(subjects, traces(opsMax), stepsMs), ([subject, ops, stepMs]) =>
      recoversFromStepBack([subject, ops], stepMs),
    );
  });
}

function explain(seen: Seen, wrong: string): () => string {
  const { limit, step, stateBefore, cost, nowMs } = seen;
  return () => `${wrong}: ${stringify({ limit, stateBefore, cost, nowMs, step })}`;
}

/** Admits exactly what the oracle admits. */
function admitsWhatFits([subject, ops]: Trace, verbs: WalkVerbs): void {
  const visit = (seen: Seen) =>
    must(seen.step.allowed === seen.fits, explain(seen, `the oracle says ${seen.fits}`));
  walk(subject, ops, visit, verbs);
}

/** `remaining` is the largest cost that would pass now: whole, from 0 to the limit. */
function countsWhatRemains([subject, ops]: Trace, verbs: WalkVerbs): void {
  const visit = (seen: Seen) => {
    const { step, oracle, nowMs, limit } = seen;
    const { remaining } = step;
    const isWhole = Number.isInteger(remaining) && remaining >= 0 && remaining <= limit.capacity;
    must(isWhole, explain(seen, "remaining is not a number of units"));
    must(
      remaining === 0 || oracle.admits(remaining, nowMs),
      explain(seen, "remaining is too much"),
    );
    must(!oracle.admits(remaining + 1, nowMs), explain(seen, "remaining is too little"));
  };
  walk(subject, ops, visit, verbs);
}

/** At `retryAfterMs` the same cost passes, one millisecond earlier it does not. */
function saysWhenToRetry([subject, ops]: Trace, verbs: WalkVerbs): void {
  const visit = (seen: Seen) => {
    const { step, stateBefore, oracle, cost, nowMs, limit } = seen;
    const { retryAfterMs } = step;
    if (step.allowed) return must(retryAfterMs === 0, explain(seen, "a wait, but admitted"));
    if (cost > limit.capacity) {
      return must(retryAfterMs === Number.POSITIVE_INFINITY, explain(seen, "it can never pass"));
    }
    must(Number.isSafeInteger(retryAfterMs) && retryAfterMs > 0, explain(seen, "no wait"));
    const retry = algorithmOf(limit).charge(stateBefore, limit, cost, nowMs + retryAfterMs);
    const early = algorithmOf(limit).charge(stateBefore, limit, cost, nowMs + retryAfterMs - 1);
    must(retry.allowed, explain(seen, "the retry is refused"));
    must(!early.allowed, explain(seen, "an earlier retry passes"));
    must(oracle.admits(cost, nowMs + retryAfterMs), explain(seen, "the oracle refuses the retry"));
    must(
      !oracle.admits(cost, nowMs + retryAfterMs - 1),
      explain(seen, "the oracle admits earlier"),
    );
  };
  walk(subject, ops, visit, verbs);
}

/** At `resetMs` the full limit would pass, one millisecond earlier it would not. */
function saysWhenFull([subject, ops]: Trace, verbs: WalkVerbs): void {
  const visit = (seen: Seen) => {
    const { step, oracle, nowMs, limit } = seen;
    const { resetMs } = step;
    must(Number.isSafeInteger(resetMs) && resetMs >= 0, explain(seen, "no whole resetMs"));
    const then = algorithmOf(limit).charge(step.state, limit, 0, nowMs + resetMs);
    must(then.remaining === limit.capacity, explain(seen, "not full at resetMs"));
    must(oracle.admits(limit.capacity, nowMs + resetMs), explain(seen, "the oracle is not full"));
    if (resetMs === 0) return;
    const early = algorithmOf(limit).charge(step.state, limit, 0, nowMs + resetMs - 1);
    must(early.remaining < limit.capacity, explain(seen, "full before resetMs"));
    must(
      !oracle.admits(limit.capacity, nowMs + resetMs - 1),
      explain(seen, "the oracle is full before"),
    );
  };
  walk(subject, ops, visit, verbs);
}

/** After a refusal every answer is the same as if nothing had been asked. */
function refusesForFree([subject, ops]: Trace, verbs: WalkVerbs): void {
  const visit = (seen: Seen) => {
    const { step, stateBefore, nowMs, limit } = seen;
    // The same object answers the same, the functions being pure.
    if (step.allowed || step.state === stateBefore) return;
    for (const atMs of moments(limit, nowMs)) {
      const asked = answers(limit, step.state, atMs);
      const unasked = answers(limit, stateBefore, atMs);
      const isSame = asked.every((answer, i) => answer === unasked[i]);
      must(
        isSame,
        explain(seen, `at ${atMs} ${stringify(asked)}, but unasked ${stringify(unasked)}`),
      );
    }
  };
  walk(subject, ops, visit, verbs);
}

/** Instants at which the future of two states is compared. */
export function moments(limit: Limit, nowMs: number): readonly number[] {
  const { recoveryMs } = limit;
  const aheadMs = [0, 1, Math.floor(recoveryMs / 7), Math.floor(recoveryMs / 2), recoveryMs];
  return aheadMs.map((ms) => nowMs + ms);
}

function answers(limit: Limit, state: unknown, atMs: number): readonly number[] {
  const algorithm = algorithmOf(limit);
  const nothing = algorithm.charge(state, limit, 0, atMs);
  const all = algorithm.charge(state, limit, limit.capacity, atMs);
  return [nothing.remaining, nothing.resetMs, all.retryAfterMs, all.delayMs];
}

/**
 * Two worlds: one charges a cost and later refunds a part, the other charged only what was
 * kept. The first never has more left; if no time passed in between, it has exactly as much.
 */
function refundsNoMore([subject, ops]: Trace, options: { ageZero: boolean }): void {
  const { limit } = subject;
  const algorithm = algorithmOf(limit);
  const reserveIndex = Math.floor(ops.length / 2);
  const isShaper = limit.algorithm === "leakyBucket" && limit.mode === "shape";
  let charged = algorithm.idle;
  let spared = algorithm.idle;
  let nowMs = subject.startMs;
  let receipt: Receipt | undefined;
  let kept = 0;
  for (const [index, op] of ops.entries()) {
    const isAfter = receipt !== undefined;
    const borderMs = subject.borderMs - (nowMs % subject.borderMs);
    const marks = { retryMs: borderMs, recoveryMs: limit.recoveryMs, borderMs };
    if (!(isAfter && options.ageZero)) nowMs = later(nowMs, waitMsOf(op, marks));
    if (isAfter && options.ageZero && isShaper) break;
    const cost = costOf(op, limit.capacity);
    const step = algorithm.charge(charged, limit, cost, nowMs);
    charged = step.state;
    if (!step.allowed) continue;
    const isReservation = index >= reserveIndex && receipt === undefined;
    if (isReservation) {
      receipt = { cost, atMs: nowMs, mark: step.mark, before: step.before };
      kept = op.size % 2 === 0 ? 0 : Math.floor(cost * (op.size / 4096));
    }
    const other = algorithm.charge(spared, limit, isReservation ? kept : cost, nowMs);
    must(
      other.allowed,
      () => `the world with more left refuses: ${stringify({ limit, spared, cost })}`,
    );
    spared = other.state;
  }
  if (receipt === undefined) return;
  const settlement = { receipt, kept };
  const settled = algorithm.refund(charged, limit, settlement, nowMs);
  for (const atMs of moments(limit, nowMs)) {
    const given = algorithm.charge(settled, limit, 0, atMs);
    const never = algorithm.charge(spared, limit, 0, atMs);
    const describe = () =>
      stringify({ limit, charged, settled, spared, receipt, kept, nowMs, atMs });
    const isNoMore = given.remaining <= never.remaining && given.resetMs >= never.resetMs;
    must(isNoMore, () => `more than had it not happened: ${describe()}`);
    const isSame = given.remaining === never.remaining && given.resetMs === never.resetMs;
    must(isSame || !options.ageZero, () => `less than all at age 0: ${describe()}`);
  }
}

/** After the clock stepped back, the limit is full again within its own recovery time. */
function recoversFromStepBack([subject, ops]: Trace, stepBackMs: number): void {
  const { limit } = subject;
  const algorithm = algorithmOf(limit);
  let state = algorithm.idle;
  let nowMs = subject.startMs;
  walk(subject, ops, (seen) => {
    state = seen.step.state;
    nowMs = seen.nowMs;
  });
  const backMs = Math.max(0, nowMs - stepBackMs);
  const first = algorithm.charge(state, limit, limit.capacity, backMs);
  const retryMs = first.allowed ? limit.recoveryMs : first.retryAfterMs;
  const describe = () => stringify({ limit, state, nowMs, backMs, first });
  must(retryMs <= limit.recoveryMs, () => `locked out: ${describe()}`);
  const retry = algorithm.charge(first.state, limit, limit.capacity, backMs + limit.recoveryMs);
  must(retry.allowed, () => `still locked out after recoveryMs: ${describe()}`);
}
