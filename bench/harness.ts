// Interleaved rounds. Machines are shared and noisy, so a figure means something only beside another one that was
// taken in the same seconds. Each round runs every contender once; the result is the median of the rounds' ratios,
// and its confidence interval says how far to trust it.

import { performance } from "node:perf_hooks";
import { effort } from "./effort.js";

/** One side of a comparison. */
export interface Contender {
  readonly name: string;
  /** Runs this many operations and returns how many were admitted. */
  run(operations: number): number | Promise<number>;
  /** Cleans up after a round; not timed. */
  settle?(): void | Promise<void>;
}

/** How long to measure. */
export interface Rounds {
  readonly operations: number;
  /** Default 9, at least 7. */
  readonly rounds?: number;
  /** Untimed rounds before the first; default 2. */
  readonly warmUpRounds?: number;
  /** By the processor time of this process, its collector's threads included; default: by time on the clock. */
  readonly isByCpu?: boolean;
}

/** What one contender did in all rounds. */
export interface Run {
  readonly name: string;
  /** Operations per second, one figure for each round. */
  readonly perSec: readonly number[];
  readonly medianPerSec: number;
  /** The share of timed operations that were admitted. */
  readonly admittedShare: number;
}

/** A subject beside its reference. */
export interface Comparison {
  readonly subject: Run;
  readonly reference: Run;
  /** The median of the rounds' ratios; above 1 the subject is faster. */
  readonly ratio: number;
  /** The confidence interval of that median. */
  readonly spread: readonly [number, number];
}

const ROUNDS_MIN = 7;
const ROUNDS_DEFAULT = 9;
const WARM_UP_ROUNDS_DEFAULT = 2;
const QUICK_ROUNDS = 3;
/** By how much rounds are shorter in quick mode. */
const QUICK_SHARE = 0.2;
/** How sure it is that the true median lies inside the spread. */
const CONFIDENCE = 0.95;

/** Runs subject and reference in turns and compares them round by round. */
export async function compare(
  subject: Contender,
  reference: Contender,
  rounds: Rounds,
): Promise<Comparison> {
  const [subjectRun, referenceRun] = await interleave([subject, reference], rounds);
  return toComparison(subjectRun as Run, referenceRun as Run);
}

/** Runs all contenders in turns, each in every round. In quick mode rounds are few and short. */
export async function interleave(contenders: readonly Contender[], asked: Rounds): Promise<Run[]> {
  const { rounds: asMany = ROUNDS_DEFAULT } = asked;
  if (asMany < ROUNDS_MIN) throw new RangeError(`at least ${ROUNDS_MIN} rounds, got ${asMany}`);
  const { operations, rounds, warmUpRounds } = effort({
    full: { warmUpRounds: WARM_UP_ROUNDS_DEFAULT, ...asked, rounds: asMany },
    quick: { operations: asked.operations * QUICK_SHARE, rounds: QUICK_ROUNDS, warmUpRounds: 1 },
  });
  const secondsNow = asked.isByCpu === true ? cpuSecondsNow : clockSecondsNow;
  const tallies = contenders.map((contender) => ({ contender, seconds: [0], admitted: 0 }));
  for (const tally of tallies) tally.seconds.length = 0;
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const tally of inTurn(tallies, round)) {
      const { seconds, admitted } = await time(tally.contender, operations, secondsNow);
      if (round < 0) continue;
      tally.seconds.push(seconds);
      tally.admitted += admitted;
    }
  }
  return tallies.map(({ contender, seconds, admitted }) => {
    const perSec = seconds.map((s) => operations / s);
    const admittedShare = admitted / (operations * rounds);
    return { name: contender.name, perSec, medianPerSec: median(perSec), admittedShare };
  });
}

/** Compares two runs that were interleaved. */
export function toComparison(subject: Run, reference: Run): Comparison {
  const ratios = subject.perSec.map(
    (perSec, round) => perSec / (reference.perSec[round] as number),
  );
  const { value: ratio, spread } = summarise(ratios);
  return { subject, reference, ratio, spread };
}

/** The sides in the order of a round, which alternates: no side always runs after the other. */
export function inTurn<T>(sides: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? sides : sides.toReversed();
}

/** The median of rounds and its spread. */
export function summarise(rounds: readonly number[]): {
  readonly value: number;
  readonly spread: readonly [number, number];
} {
  return { value: median(rounds), spread: spreadOf(rounds) };
}

/** The middle value, or the mean of the two in the middle; NaN if there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/**
 * The confidence interval of the median: leaves out as many of the smallest and of the largest values as it can
 * while the true median lies inside with a probability of 95%. A round falls on either side of the median like
 * a coin, so nothing has to be known about the distribution of rounds. Of fewer than 9 values none can be left
 * out: it is then their whole range.
 */
export function spreadOf(values: readonly number[]): readonly [number, number] {
  const { length } = values;
  const sorted = values.toSorted((a, b) => a - b);
  let leftOut = 0;
  // The probability that exactly, and at most, `count` rounds fall on one side.
  let exactly = 0.5 ** length;
  let atMost = exactly;
  for (let count = 1; count < length / 2; count++) {
    exactly *= (length - count + 1) / count;
    atMost += exactly;
    if (2 * atMost > 1 - CONFIDENCE) break;
    leftOut = count;
  }
  return [sorted[leftOut] as number, sorted[length - 1 - leftOut] as number];
}

/** The smallest and the largest value. */
export function rangeOf(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

/** Collects garbage; the benchmarks run with --expose-gc. */
export function collectGarbage(kind: "minor" | "major" = "major"): void {
  if (globalThis.gc === undefined) throw new Error("run with node --expose-gc");
  // Not `gc({ type: "major" })`: Node 20 takes any object for a wish to collect the nursery only.
  if (kind === "minor") globalThis.gc(true);
  else globalThis.gc();
}

async function time(
  contender: Contender,
  operations: number,
  secondsNow: () => number,
): Promise<{ seconds: number; admitted: number }> {
  // Each pays for its own garbage, not for what the one before it left in the nursery.
  collectGarbage("minor");
  const before = secondsNow();
  const pending = contender.run(operations);
  // A synchronous contender must not pay for a turn of the microtask queue, nor need one.
  const admitted = typeof pending === "number" ? pending : await pending;
  const seconds = secondsNow() - before;
  await contender.settle?.();
  return { seconds, admitted };
}

function clockSecondsNow(): number {
  return performance.now() / 1_000;
}

function cpuSecondsNow(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
