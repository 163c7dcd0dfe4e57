// What a run shows: the interval with the most admissions, how evenly clients were served, how long they waited.

import type { Settings } from "./settings.js";
import { keyOf, type Run } from "./simulate.js";
import type { Traffic } from "./traffic.js";

/** The window-long interval in which a key was admitted the most. */
export interface WorstInterval {
  /** When it begins: with an admission. */
  readonly fromMs: number;
  /** When its last admission is. */
  readonly toMs: number;
  /** Units that were admitted in it. */
  readonly units: number;
}

/** The numbers of a run. */
export interface Findings {
  readonly admitted: number;
  readonly delayed: number;
  readonly refused: number;
  /** Requests of clients that never passed, retries not counted apart. */
  readonly lost: number;
  /** Undefined if nothing was admitted. */
  readonly worst: WorstInterval | undefined;
  /** The most that were under way together, each for the hold time. */
  readonly inFlightMax: number;
  /** Jain's index of what clients got: 1 if all got the same, 1/n if one of n got everything. Undefined for one client. */
  readonly fairness: number | undefined;
  /** The time within which 99% of those that passed got through, from their first try. */
  readonly waitMsP99: number;
}

/** Finds them. */
export function toFindings(run: Run, settings: Settings, traffic: Traffic): Findings {
  const admitted = sum(run.admitted);
  const delayed = sum(run.delayed);
  const passed = run.attempts.filter(({ decision }) => decision.allowed);
  return {
    admitted,
    delayed,
    refused: sum(run.refused),
    lost: traffic.arrivals.length - passed.length,
    worst: toWorst(run, settings),
    inFlightMax: toInFlightMax(run, settings),
    fairness: toFairness(run, traffic),
    waitMsP99: percentile(
      passed.map(({ atMs, firstMs, decision }) => atMs + decision.delayMs - firstMs),
      0.99,
    ),
  };
}

/** When an admitted request continues. */
function leavesByKey({ attempts }: Run, settings: Settings): Map<string, number[]> {
  const leaves = new Map<string, number[]>();
  for (const { atMs, client, decision } of attempts) {
    if (!decision.allowed) continue;
    const key = keyOf(settings, client);
    const times = leaves.get(key) ?? [];
    times.push(atMs + decision.delayMs);
    leaves.set(key, times);
  }
  for (const times of leaves.values()) times.sort((a, b) => a - b);
  return leaves;
}

function toWorst(run: Run, settings: Settings): WorstInterval | undefined {
  const { windowMs, cost } = settings;
  let worst: WorstInterval | undefined;
  for (const times of leavesByKey(run, settings).values()) {
    let from = 0;
    for (const [to, toMs] of times.entries()) {
      while (toMs - (times[from] ?? toMs) >= windowMs) from++;
      const units = (to - from + 1) * cost;
      if (worst === undefined || units > worst.units)
        worst = { fromMs: times[from] ?? toMs, toMs, units };
    }
  }
  return worst;
}

function toInFlightMax(run: Run, settings: Settings): number {
  let most = 0;
  for (const times of leavesByKey(run, settings).values()) {
    let from = 0;
    for (const [to, toMs] of times.entries()) {
      while (toMs - (times[from] ?? toMs) >= settings.holdMs) from++;
      most = Math.max(most, to - from + 1);
    }
  }
  return most;
}

function toFairness({ attempts }: Run, { clients, arrivals }: Traffic): number | undefined {
  const senders = new Set(arrivals.map(({ client }) => client));
  if (clients < 2 || senders.size < 2) return undefined;
  const got = new Map([...senders].map((client) => [client, 0]));
  for (const { client, decision } of attempts)
    if (decision.allowed) got.set(client, (got.get(client) ?? 0) + 1);
  const each = [...got.values()];
  const squares = sum(each.map((count) => count * count));
  return squares === 0 ? undefined : sum(each) ** 2 / (senders.size * squares);
}

/** 0 of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
