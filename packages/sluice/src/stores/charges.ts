// Merges the charges of one request on the same counter and key into one charge with their total cost: decided
// separately, each could pass although the total does not.

import type { Verdict } from "../base/decision.js";
import type { Charge } from "./store.js";

/** Charges on the same counter and key are one charge of their costs together. */
export function mergeEqual(charges: readonly Charge[]): readonly Charge[] {
  if (!hasEqual(charges)) return charges;
  const merged: Charge[] = [];
  for (const charge of charges) {
    const i = merged.findIndex((other) => isSameCounter(other, charge));
    if (i < 0) merged.push(charge);
    else merged[i] = { ...merged[i], cost: merged[i].cost + charge.cost };
  }
  return merged;
}

function hasEqual(charges: readonly Charge[]): boolean {
  for (let i = 1; i < charges.length; i++) {
    for (let before = 0; before < i; before++) {
      if (isSameCounter(charges[before], charges[i])) return true;
    }
  }
  return false;
}

/** The verdict of each charge, where several may have been merged into one. */
export function spreadVerdicts(
  verdicts: readonly Verdict[],
  charges: readonly Charge[],
  merged: readonly Charge[],
): readonly Verdict[] {
  if (verdicts.length === charges.length) return verdicts;
  return charges.map(
    (charge) => verdicts[merged.findIndex((other) => isSameCounter(other, charge))],
  );
}

/** Whether two charges of a request are charged together. */
export function isSameCounter(a: Charge, b: Charge): boolean {
  return a.counter === b.counter && a.key === b.key && a.shadow === b.shadow;
}
