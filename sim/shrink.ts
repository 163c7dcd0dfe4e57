// A run that broke a promise, made small: faults are left out one by one as long as the promise stays broken.

import { faultsOf, type RunOptions, type RunResult, runScenario } from "./run.js";
import type { Fault } from "./scenarios.js";
import { percent } from "./table.js";

/** The most runs that shrinking takes. */
const RUNS_MAX = 100;

/** What is wrong with a run: a promise that it broke, in words; undefined if it kept them all. */
export function brokenPromise(result: RunResult): string | undefined {
  const { overshoot, overshootMax, unanswered, failures } = result;
  if (overshootMax !== undefined && overshoot > overshootMax + 1e-9)
    return `a caller exceeded its limit by ${percent(overshoot)}; the bound is ${percent(overshootMax)}`;
  if (unanswered > 0) return `${unanswered} requests got no answer`;
  if (failures > 0) return `${failures} checks failed with an error`;
  return undefined;
}

/** The fewest faults found with which a run still breaks a promise. */
export async function shrinkFaults(options: RunOptions): Promise<readonly Fault[]> {
  let kept = faultsOf(options);
  let runs = 0;
  for (
    let size = Math.ceil(kept.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < kept.length && runs < RUNS_MAX; runs++) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
      const result = await runScenario({ ...options, faults: fewer });
      if (brokenPromise(result) === undefined) at += size;
      else kept = fewer;
    }
  }
  return kept;
}
