// What each consistency and each way of agreeing across regions promises about the most units that one caller can be above
// its limit (docs/guides/leases.md and regions.md say the same in words). A run that exceeds it has found a defect.

import { eventual, type Limit, memoryStore } from "sluice";
import type { RunResult } from "./run.js";
import type { Scenario } from "./scenario.js";
import { percent } from "./table.js";
import type { WorldOptions } from "./world/world.js";

/** How long a region may hold what it leased from the home region: the default of the library. */
const REGION_LEASE_MS = 5_000;

/** Limits that recover within it wait after a promotion: the default of the library. */
const PROMOTION_WAIT_MS = 60_000;

/** The most units above a limit; undefined if nothing is promised. */
export function boundOf(scenario: Scenario, options: WorldOptions): number | undefined {
  // What the home region decides for every request, it decides alone.
  if (options.homeLimits.length > 0) return 0;
  const byLimit = options.limits.map((limit) => boundOfLimit(limit, scenario, options));
  return byLimit.includes(undefined) ? undefined : Math.max(...(byLimit as number[]));
}

function boundOfLimit(limit: Limit, scenario: Scenario, options: WorldOptions): number | undefined {
  const { consistency, leaseMs } = options;
  const perMs = "refill" in limit ? limit.refill.amount / limit.refill.everyMs : 0;
  // A store without persistence forgets up to one limit of each caller.
  const forgotten = scenario.isStoreFaulty === true ? limit.capacity : 0;
  if (options.across === "each" && options.regions.length > 1) {
    // A window has the whole limit in each region. The debt of a bucket grows for as long as all of them admit.
    return "refill" in limit
      ? undefined
      : (options.regions.length - 1) * limit.capacity + forgotten;
  }
  // What regions had not heard of is counted while it happens: see unheard-units.ts.
  if (options.across === "merged") return undefined;
  // A new home region does not know what was used: limits that recover within a minute wait for that, others start full.
  if (options.standby !== undefined && limit.recoveryMs > PROMOTION_WAIT_MS) return undefined;
  if (options.across === "leased" && options.regions.length > 1) {
    // What a region holds may be spent so much later than it was charged; what a process leased on from it ends before.
    return forgotten + perMs * REGION_LEASE_MS;
  }
  switch (consistency) {
    case "strict":
      return forgotten;
    case "leased":
      return forgotten + perMs * leaseMs;
    case "eventual":
      return scenario.faults === undefined ? declaredByEventual(limit, options) : undefined;
    case "local":
      // A window has the whole limit in each process. The debt of a bucket grows for as long as all of them admit.
      return "refill" in limit || scenario.faults !== undefined
        ? undefined
        : (windowsMet(options) * options.nodes - 1) * limit.capacity;
  }
}

/** How many windows of a process lie in one of the caller's: where clocks differ, one may end and the next begin in it. */
function windowsMet({ skewMsMax }: WorldOptions): number {
  return skewMsMax > 0 ? 2 : 1;
}

/**
 * What the store itself declares, for exchanges that take no longer than a call may. Faults void it: processes that can't
 * exchange count alone, and one that starts again has forgotten what it heard.
 */
function declaredByEventual(limit: Limit, { nodes, syncMs, timeoutMs }: WorldOptions): number {
  const store = memoryStore({ keysMax: 1 });
  return eventual(store, { nodes, syncMs }).overshootMax(limit, timeoutMs);
}

/** What is wrong with a run: a promise that it broke, in words; undefined if it kept them all. */
export function brokenPromise(result: RunResult): string | undefined {
  const { overshoot, overshootMax, unheardBeyond, unanswered, failures } = result;
  const { uncharged, chargedInVain, mayChargeInVain } = result;
  if (unheardBeyond > 0)
    return `a caller exceeded its limit by ${percent(unheardBeyond)} beyond what other regions had not heard of`;
  if (overshootMax !== undefined && overshoot > overshootMax + 1e-9)
    return `a caller exceeded its limit by ${percent(overshoot)}; the bound is ${percent(overshootMax)}`;
  if (uncharged > 0) return `a caller was admitted ${uncharged} units that a rule did not count`;
  if (chargedInVain > 0 && !mayChargeInVain)
    return `a rule counted ${chargedInVain} units that a caller was refused`;
  if (unanswered > 0) return `${unanswered} requests got no answer`;
  if (failures > 0) return `${failures} checks failed with an error`;
  return undefined;
}
