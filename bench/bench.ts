// What a benchmark is: an id, a bar and a goal, parts that each run in their own process, and a conclusion from
// what the parts measured.

import { isQuick } from "./effort.js";
import { type Comparison, median, summarise } from "./harness.js";

/** The figures in which results come. */
export type Unit =
  | "ratio"
  | "share"
  | "bytes per key"
  | "bytes"
  | "kB"
  | "MB"
  | "percent"
  | "ns"
  | "ms"
  | "commands"
  | "entries/s"
  | "decisions/s";

/** What must hold and what is aimed at. */
export interface Bound {
  readonly is: "at least" | "at most" | "below";
  /** Absent: whatever comes out is in order, and only the goal is held against it. */
  readonly bar?: number;
  readonly goal: number;
}

/** A conclusion of a benchmark. */
export interface Finding {
  readonly subject: string;
  readonly reference?: string;
  readonly subjectPerSec?: number;
  readonly referencePerSec?: number;
  /** Subject over reference. */
  readonly ratio?: number;
  /** The figure that the bar is about: the median of rounds, where there are some. */
  readonly value: number;
  /** How far off the value may be: the confidence interval of the median (`spreadOf`). */
  readonly spread?: readonly [number, number];
  /** What else a reader has to know to judge the figure. */
  readonly note?: string;
  /** False for a figure that stands beside the one which the bar is about. */
  readonly isJudged?: boolean;
}

/** A benchmark. `Part` is what one of its processes reports; it must survive being sent. */
export interface Bench<Part = unknown> {
  readonly id: string;
  readonly unit: Unit;
  /** Absent: the result is reported, not judged. */
  readonly bound?: Bound;
  /** Each part runs in its own process, so that neither heap nor compiler carry over. */
  readonly parts: readonly string[];
  /** The heap that a part may need, if it is more than Node would give it. */
  readonly heapMbMax?: number;
  runPart(part: string): Part | Promise<Part>;
  conclude(parts: readonly Part[]): readonly Finding[];
}

/** Unclear: the limit lies inside the spread, so another run may come out on its other side. */
export type Verdict = "reached" | "missed" | "unclear";

/** A finding together with the bar it was held against. */
export interface Result extends Finding {
  readonly bench: string;
  readonly unit: Unit;
  readonly bound?: Bound;
  /** On the bar, or on the goal where there is no bar. Absent: not judged. */
  readonly verdict?: Verdict;
  readonly goalVerdict?: Verdict;
}

/** Judges a finding by the bar of its benchmark. Quick mode judges nothing, since bars are about full sizes. */
export function toResult(bench: Bench, finding: Finding, isJudging = !isQuick): Result {
  const { id, unit, bound } = bench;
  if (bound === undefined || finding.isJudged === false) return { bench: id, unit, ...finding };
  if (!isJudging) return { bench: id, unit, bound, ...finding };
  // A goal of 0 is met by 0, also where the bar itself has to be undercut.
  const goalVerdict = judge(finding, bound.is === "at least" ? "at least" : "at most", bound.goal);
  const verdict = bound.bar === undefined ? goalVerdict : judge(finding, bound.is, bound.bar);
  return { bench: id, unit, bound, verdict, goalVerdict, ...finding };
}

/** The finding of a ratio, from the figures of two sides in the same rounds. */
export function toRatioFinding(
  names: Pick<Finding, "subject" | "reference" | "note">,
  ours: readonly number[],
  theirs: readonly number[],
): Finding {
  const { value, spread } = summarise(
    ours.map((perSec, round) => perSec / (theirs[round] as number)),
  );
  const rates = { subjectPerSec: median(ours), referencePerSec: median(theirs) };
  return { ...names, ...rates, ratio: value, value, spread };
}

/** The finding of a comparison of speeds. */
export function toFinding({ subject, reference, ratio, spread }: Comparison): Finding {
  return {
    subject: subject.name,
    reference: reference.name,
    subjectPerSec: subject.medianPerSec,
    referencePerSec: reference.medianPerSec,
    ratio,
    value: ratio,
    spread,
    note: `admitted ${toPercent(subject.admittedShare)} and ${toPercent(reference.admittedShare)}`,
  };
}

/** "99.97%", as notes have it. */
export function toPercent(share: number): string {
  return `${Number((share * 100).toPrecision(4))}%`;
}

function judge(
  { value, spread = [value, value] }: Finding,
  is: Bound["is"],
  limit: number,
): Verdict {
  const held = [value, ...spread].filter((figure) => holds(is, figure, limit)).length;
  if (held === 0) return "missed";
  return held === 1 + spread.length ? "reached" : "unclear";
}

function holds(is: Bound["is"], value: number, limit: number): boolean {
  if (is === "at least") return value >= limit;
  return is === "at most" ? value <= limit : value < limit;
}
