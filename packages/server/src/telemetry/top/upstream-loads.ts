// The current state of upstreams with adaptive limits or circuit breakers: read from the gateway, and several processes
// added up as one.

import type { BreakerState, Priority } from "sluice/adaptive";
import { PRIORITIES } from "sluice/adaptive";
import type { UpstreamLoad } from "../reported.js";

/** Where the loads of this process come from. */
export class UpstreamLoads {
  #read: () => readonly UpstreamLoad[] = () => [];

  /** Reads them from here from now on. */
  watch(read: () => readonly UpstreamLoad[]): void {
    this.#read = read;
  }

  /** How they stand now; empty if there are none. */
  read(): readonly UpstreamLoad[] {
    return this.#read();
  }
}

/** The loads of several processes: limits and counts added up, latency the highest, a breaker as open as any. */
export function joinLoads(loads: readonly UpstreamLoad[]): UpstreamLoad[] {
  const byName = new Map<string, UpstreamLoad>();
  for (const load of loads) {
    const name = JSON.stringify([load.upstream, load.route]);
    const known = byName.get(name);
    byName.set(name, known === undefined ? load : addLoads(known, load));
  }
  return [...byName.values()];
}

function addLoads(a: UpstreamLoad, b: UpstreamLoad): UpstreamLoad {
  return {
    upstream: a.upstream,
    route: a.route,
    limit: either(a.limit, b.limit, sum),
    inFlight: either(a.inFlight, b.inFlight, sum),
    latencyMs: either(a.latencyMs, b.latencyMs, Math.max),
    shed: either(a.shed, b.shed, addCounts),
    breaker: either(a.breaker, b.breaker, mostOpen),
    breakerShed: either(a.breakerShed, b.breakerShed, addCounts),
  };
}

type Counts = Readonly<Record<Priority, number>>;

function either<T>(a: T | null, b: T | null, join: (a: T, b: T) => T): T | null {
  if (a === null) return b;
  return b === null ? a : join(a, b);
}

function sum(a: number, b: number): number {
  return a + b;
}

function addCounts(a: Counts, b: Counts): Counts {
  const entries = PRIORITIES.map((priority) => [priority, a[priority] + b[priority]]);
  return Object.fromEntries(entries) as Counts;
}

const OPENNESS: readonly BreakerState[] = ["closed", "half-open", "open"];

function mostOpen(a: BreakerState, b: BreakerState): BreakerState {
  return OPENNESS.indexOf(a) > OPENNESS.indexOf(b) ? a : b;
}
