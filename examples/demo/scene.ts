// One scene for each algorithm: the traffic goes through a limiter on a clock that only the scene
// moves, and what became of each request is written down.

import { createLimiter, type Decision, type Limit } from "sluice";
import { ManualClock } from "sluice/testing";
import { arrivals, countBySlice, mostWithin, offered } from "./traffic.js";

/** When the traffic starts and how long a slice of it lasts. */
export interface Span {
  readonly startMs: number;
  readonly sliceMs: number;
}

/** What became of the traffic under one limit; counts are by slice. */
export interface Outcome {
  readonly admitted: readonly number[];
  readonly refused: readonly number[];
  /** When admitted requests left: later than they came, if the limit delays. */
  readonly left: readonly number[];
  readonly delayMsMax: number;
  /** The most that left within any four seconds. */
  readonly mostInFourSeconds: number;
}

/** Sends the traffic through `limit`. */
export function checkAll(limit: Limit, span: Span): Outcome {
  const clock = new ManualClock(span.startMs);
  const limiter = createLimiter({ limit, clock });
  const decisions = arrivals(span).map((atMs) => {
    clock.set(atMs);
    return { atMs, decision: limiter.check("user:42") };
  });
  return toOutcome(decisions, span);
}

/** How long an admitted request holds its permit; Infinity if its holder dies. */
export type HoldMs = (request: number) => number;

/** Sends the traffic through a concurrency limit, and counts the permits held in each slice. */
export function acquireAll(
  limit: Limit,
  span: Span,
  holdMs: HoldMs,
): Outcome & { readonly held: readonly number[] } {
  const clock = new ManualClock(span.startMs);
  const limiter = createLimiter({ limit, clock });
  const waiting = arrivals(span);
  const decisions: Timed[] = [];
  const releases: { atMs: number; release: () => void }[] = [];
  const held: number[] = [];
  for (; held.length < offered.length; clock.advance(1)) {
    const atMs = clock.now();
    for (const due of releases) if (due.atMs === atMs) due.release();
    for (; waiting[0] === atMs; waiting.shift()) {
      const permit = limiter.acquire("user:42");
      releases.push({ atMs: atMs + holdMs(decisions.length), release: permit.release });
      decisions.push({ atMs, decision: permit });
    }
    const isSliceEnd = (atMs + 1 - span.startMs) % span.sliceMs === 0;
    if (isSliceEnd) held.push(limit.capacity - limiter.peek("user:42").remaining);
  }
  return { ...toOutcome(decisions, span), held };
}

interface Timed {
  readonly atMs: number;
  readonly decision: Decision;
}

function toOutcome(decisions: readonly Timed[], span: Span): Outcome {
  const admitted = decisions.filter(({ decision }) => decision.allowed);
  const refused = decisions.filter(({ decision }) => !decision.allowed);
  const times = (some: readonly Timed[]) => some.map(({ atMs }) => atMs);
  const left = admitted.map(({ atMs, decision }) => atMs + decision.delayMs);
  return {
    admitted: countBySlice(times(admitted), span),
    refused: countBySlice(times(refused), span),
    left,
    delayMsMax: Math.max(...admitted.map(({ decision }) => decision.delayMs)),
    mostInFourSeconds: mostWithin(left, 4_000),
  };
}
