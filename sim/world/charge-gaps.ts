// All or nothing across rules: after a run, what every rule has counted for a caller is compared with what that caller was
// admitted. A rule that counted less has let a request pass for free; one that counted more has charged a refusal.

import type { Simulation } from "../kernel/simulation.js";
import type { Across } from "./regional-policy.js";
import type { World } from "./world.js";

/** The most units of any caller and rule. */
export interface ChargeGaps {
  /** Admitted, and not counted. */
  readonly uncharged: number;
  /** Counted, and not admitted. */
  readonly inVain: number;
}

/** How long all answers take together. */
const ANSWERS_MS = 1_000;

/** How often the stores of all regions together count a unit: once in the home region, or in that of the request. */
const COUNTED_IN: Readonly<Record<Across, "home" | "each" | undefined>> = {
  each: "each",
  split: "each",
  // Counters of an earlier share still count, and are not shown.
  learned: undefined,
  central: "home",
  leased: "home",
  merged: "home",
};

/** Asks every rule what it has counted, once all requests are answered. Undefined unless there are two rules. */
export async function findChargeGaps(
  world: World,
  simulation: Simulation,
): Promise<ChargeGaps | undefined> {
  const { across, callers, homeLimits, regions } = world.options;
  const where = COUNTED_IN[across];
  if (homeLimits.length === 0 || where === undefined) return undefined;
  const { nowMs } = simulation;
  // The first processes are in one region each, the home region's first.
  const nodes = world.nodes.slice(0, where === "home" ? 1 : regions.length);
  let [uncharged, inVain] = [0, 0];
  const asked = Array.from({ length: callers }, async (_, caller) => {
    const all = await Promise.all(nodes.map((node) => node.counted(world.keyOf(caller))));
    const [own] = all;
    const counted = own.map((units, rule) =>
      // What the home region decides is counted there only, whichever region is asked.
      rule === 0 ? all.reduce((sum, each) => sum + each[0], 0) : units,
    );
    for (const [rule, units] of world.truth.used(caller, nowMs).entries()) {
      uncharged = Math.max(uncharged, units - counted[rule]);
      inVain = Math.max(inVain, counted[rule] - units);
    }
  });
  await simulation.run(ANSWERS_MS);
  await Promise.all(asked);
  return { uncharged, inVain };
}
