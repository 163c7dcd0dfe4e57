// A run that broke a promise, made small: faults are left out one by one as long as the promise stays broken.

import { brokenPromise } from "./bounds.js";
import type { Fault } from "./faults.js";
import { faultsOf, type RunOptions, runScenario } from "./run.js";

/** The most runs that shrinking takes. */
const RUNS_MAX = 100;

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
