// A run that broke a promise, made small: faults are left out one by one as long as the promise stays broken.

import { brokenPromise } from "./bounds.js";
import type { Fault } from "./faults.js";
import { faultsOf, type RunOptions, runScenario } from "./run.js";

/** The most runs that shrinking takes, and how long it takes at most by default. */
const RUNS_MAX = 100;
const TOOK_MS_MAX = 600_000;

/** The fewest faults found, in that time, with which a run still breaks a promise. */
export async function shrinkFaults(
  options: RunOptions,
  tookMsMax: number = TOOK_MS_MAX,
): Promise<readonly Fault[]> {
  const endMs = performance.now() + tookMsMax;
  let kept = options.faults ?? faultsOf(options);
  let runs = 0;
  for (
    let size = Math.ceil(kept.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < kept.length && runs < RUNS_MAX && performance.now() < endMs; runs++) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
      const result = await runScenario({ ...options, faults: fewer });
      if (brokenPromise(result) === undefined) at += size;
      else kept = fewer;
    }
  }
  return kept;
}

/** What broke, from which seed, and the fewest faults found with which it still does: in lines, for people. */
export async function toReport(
  run: RunOptions,
  broken: string,
  tookMsMax?: number,
): Promise<string> {
  const { scenario, consistency, across, seed } = run;
  const agreement = across === undefined ? consistency : `${consistency}, ${across}`;
  const faults = await shrinkFaults(run, tookMsMax);
  const problem = `${scenario.name}, ${agreement}, seed ${seed}: ${broken}.`;
  if (faults.length === 0) return `${problem} It takes no fault to reproduce it.`;
  return [
    `${problem} The fewest faults that reproduce it:`,
    ...faults.map(({ atMs, what }) => `  at ${atMs} ms ${what}`),
  ].join("\n");
}
