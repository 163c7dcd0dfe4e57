// What operations cost, as the benchmarks measured them. A simulation counts operations; together they say what machines
// a load needs.

import type { RunResult } from "../run.js";

/** Costs of single operations. */
export interface Costs {
  /** Decisions a second of one processor that are made in the process, out of a lease or a deny cache. */
  readonly inProcessPerSecond: number;
  /** Decisions a second of one process that asks Redis for each. */
  readonly askedPerSecond: number;
  /** Processor time of Redis for a decision. */
  readonly redisUs: number;
}

/** The machines that a load needs. */
export interface MachinesNeeded {
  readonly processors: number;
  /** Machines of the shared store, each at {@link STORE_LOAD} of what it can take. */
  readonly stores: number;
  readonly gigabitsPerSecond: number;
}

/** The share of its time that a store may be busy for: beyond it, calls wait for each other. */
export const STORE_LOAD = 0.7;

/**
 * Reads the costs out of the tables of docs/benchmarks.md.
 *
 * @throws RangeError if a figure is not there.
 */
export function readCosts(page: string): Costs {
  return {
    inProcessPerSecond: read(page, "redis/leased", /leased, 100 busy keys \(([\d,]+)\/s\)/),
    askedPerSecond: read(page, "redis/strict", /strict \(([\d,]+)\/s\)/),
    redisUs: read(page, "redis/cpu", /Redis spends ([\d.]+) µs/),
  };
}

function read(page: string, bench: string, pattern: RegExp): number {
  const rows = page.split("\n").filter((line) => line.startsWith(`| \`${bench}\` |`));
  const found = rows.map((row) => pattern.exec(row)).find((match) => match !== null);
  if (found === undefined)
    throw new RangeError(`docs/benchmarks.md has no row of ${bench} that matches ${pattern}`);
  return Number(found[1].replaceAll(",", ""));
}

/** What it takes to decide `perSecond` times a second as a run did. */
export function machinesNeededFor(
  result: RunResult,
  costs: Costs,
  perSecond: number,
): MachinesNeeded {
  const asked = Math.min(1, result.storeCallsPerThousand / 1_000);
  const seconds = (1 - asked) / costs.inProcessPerSecond + asked / costs.askedPerSecond;
  const calls = (perSecond * result.storeCallsPerThousand) / 1_000;
  return {
    processors: Math.ceil(perSecond * seconds),
    stores: Math.ceil((calls * costs.redisUs) / 1e6 / STORE_LOAD),
    gigabitsPerSecond: (perSecond * result.bytesPerThousand * 8) / 1_000 / 1e9,
  };
}
