// The lanes that the charges of a request go to.

import type { RuleCharge } from "../charges/request-charges.js";

/** Whether all charges go to one store. */
export function isOneLane(charges: readonly RuleCharge[]): boolean {
  const { lane } = charges[0].rule;
  for (let i = 1; i < charges.length; i++) if (charges[i].rule.lane !== lane) return false;
  return true;
}

/** Charges by lane, the cheapest lane first. */
export function toLanes(charges: readonly RuleCharge[]): RuleCharge[][] {
  const lanes = new Map<unknown, RuleCharge[]>();
  for (const charge of charges) {
    const { lane } = charge.rule;
    const list = lanes.get(lane);
    if (list === undefined) lanes.set(lane, [charge]);
    else list.push(charge);
  }
  return [...lanes.values()].sort((a, b) => a[0].rule.lane.order - b[0].rule.lane.order);
}
