// One run of an overloaded backend behind a limit of concurrent requests, fixed or adaptive. What counts is the goodput:
// responses that reach a client which still waits for them.

import {
  type AdaptiveAlgorithm,
  type AdaptiveConcurrency,
  adaptiveConcurrency,
} from "sluice/adaptive";
import { Simulation } from "../kernel/simulation.js";
import { BackendModel } from "./backend-model.js";
import { FULL_BACKEND, LENGTH_MS, type OverloadScenario } from "./overload-scenarios.js";

/** How concurrent requests are limited: by a number, or by an algorithm. */
export type Contender = number | AdaptiveAlgorithm;

/** What a run has shown, between the change of the backend and its recovery. */
export interface OverloadResult {
  readonly scenario: string;
  readonly contender: Contender;
  /** Responses in time, in a second. */
  readonly goodputPerSec: number;
  /** Of 100 responses in time, 99 were at least as fast. */
  readonly p99Ms: number;
  /** The share of requests that were refused. */
  readonly shedShare: number;
  /** The share of requests whose client gave up waiting. */
  readonly timedOutShare: number;
  /** The goodput after the recovery. */
  readonly recoveredPerSec: number;
}

/** How long clients wait. */
export const DEADLINE_MS = 200;
/** Requests in a second: half as many again as the whole backend can serve. */
export const ARRIVALS_PER_SEC = 2_400;
const LIMIT_MAX = 1_000;

/** Counts what came of the requests of a phase. */
class Phase {
  readonly latenciesMs: number[] = [];
  arrivals = 0;
  shed = 0;
  timedOut = 0;
}

/** Runs a scenario with one contender from one seed. */
export function runOverload(
  scenario: OverloadScenario,
  contender: Contender,
  seed: number,
): OverloadResult {
  const simulation = new Simulation(seed);
  const startMs = simulation.nowMs;
  const backend = new BackendModel(simulation, { ...FULL_BACKEND, pauses: scenario.pauses });
  const limit = toLimit(contender, startMs);
  const phases = { before: new Phase(), changed: new Phase(), recovered: new Phase() };
  let phase = phases.before;
  simulation.after(LENGTH_MS, () => {
    phase = phases.changed;
    backend.change(scenario.change);
  });
  simulation.after(2 * LENGTH_MS, () => {
    phase = phases.recovered;
    backend.change(FULL_BACKEND);
  });
  const arrivals = simulation.randomOf("arrivals");
  const arrive = () => {
    simulation.after((-Math.log(1 - arrivals.fraction()) * 1_000) / ARRIVALS_PER_SEC, arrive);
    send(simulation, backend, limit, phase);
  };
  arrive();
  simulation.runNow(3 * LENGTH_MS);
  return toResult(scenario, contender, phases.changed, phases.recovered);
}

function toLimit(contender: Contender, nowMs: number): AdaptiveConcurrency {
  const clock = { now: () => nowMs };
  if (typeof contender === "number") {
    return adaptiveConcurrency({ min: contender, max: contender, clock });
  }
  return adaptiveConcurrency({ algorithm: contender, min: 1, max: LIMIT_MAX, clock });
}

/** One request: refused, answered in time, or given up. */
function send(
  simulation: Simulation,
  backend: BackendModel,
  limit: AdaptiveConcurrency,
  phase: Phase,
): void {
  const startedAtMs = simulation.nowMs;
  phase.arrivals++;
  const permit = limit.acquire({ nowMs: startedAtMs });
  if (!permit.allowed) {
    phase.shed++;
    return;
  }
  const giveUp = simulation.after(DEADLINE_MS, () => {
    phase.timedOut++;
    permit.release("timeout", simulation);
  });
  backend.serve(() => {
    const latencyMs = simulation.nowMs - startedAtMs;
    if (latencyMs > DEADLINE_MS) return;
    giveUp();
    phase.latenciesMs.push(latencyMs);
    permit.release("ok", simulation);
  });
}

function toResult(
  { name }: OverloadScenario,
  contender: Contender,
  changed: Phase,
  recovered: Phase,
): OverloadResult {
  const sorted = changed.latenciesMs.toSorted((a, b) => a - b);
  const perSec = (count: number) => count / (LENGTH_MS / 1_000);
  return {
    scenario: name,
    contender,
    goodputPerSec: perSec(sorted.length),
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY,
    shedShare: changed.shed / changed.arrivals,
    timedOutShare: changed.timedOut / changed.arrivals,
    recoveredPerSec: perSec(recovered.latenciesMs.length),
  };
}
