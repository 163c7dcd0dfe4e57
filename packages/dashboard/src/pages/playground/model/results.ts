// Everything that the page shows of a view, computed once when the view changes.

import { ALGORITHMS } from "./algorithms.js";
import { type Findings, toFindings } from "./findings.js";
import { type KeyMemory, memoryOf } from "./memory.js";
import type { LoggedRequest } from "./read-log.js";
import { sayOf } from "./sentences.js";
import type { Settings } from "./settings.js";
import { type Attempt, type Run, STEPS, simulate } from "./simulate.js";
import { type Traffic, toTraffic } from "./traffic.js";

/** One algorithm's part. */
export interface AlgorithmResult {
  readonly run: Run;
  readonly findings: Findings;
  readonly sentence: string;
  readonly memory: KeyMemory;
}

/** What the page shows. */
export interface Results {
  readonly settings: Settings;
  readonly traffic: Traffic;
  readonly algorithms: readonly AlgorithmResult[];
  /** The most requests in one step of any algorithm, so that all are drawn to one scale. */
  readonly stepMax: number;
  /** The instant to look at first: when the fixed window has admitted the most. */
  readonly startAtMs: number;
}

/** Runs the traffic through every algorithm. */
export function toResults(settings: Settings, log: readonly LoggedRequest[]): Results {
  const traffic = toTraffic(settings, log);
  const algorithms = ALGORITHMS.map((algorithm): AlgorithmResult => {
    const run = simulate(algorithm, settings, traffic);
    const findings = toFindings(run, settings, traffic);
    const sentence = sayOf({ run, findings, settings });
    return { run, findings, sentence, memory: memoryOf(algorithm, settings) };
  });
  const totals = algorithms.flatMap(({ run }) =>
    Array.from(
      { length: STEPS },
      (_, at) => (run.admitted[at] ?? 0) + (run.delayed[at] ?? 0) + (run.refused[at] ?? 0),
    ),
  );
  return {
    settings,
    traffic,
    algorithms,
    stepMax: Math.max(1, ...totals),
    startAtMs: algorithms[0]?.findings.worst?.toMs ?? 0,
  };
}

/** The latest attempt by that time, the first one before it; undefined if there is none. */
export function attemptAt({ attempts }: Run, atMs: number): Attempt | undefined {
  let low = 0;
  let high = attempts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((attempts[middle] as Attempt).atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  return attempts[Math.max(0, low - 1)];
}
