// What a request costs, before it is answered.

import { SluiceError, show } from "../errors.js";
import { toCost } from "../limiter-input.js";
import type { Facts } from "./facts.js";
import type { Cost } from "./rule.js";

/** A cost by code: whole units from 0. */
export type CostFunction = (facts: Facts) => number;

/** By the name that rules use. */
export type CostFunctions = ReadonlyMap<string, CostFunction>;

/** The units that a request costs under a rule. */
export function toUnits(cost: Cost, facts: Facts, functions: CostFunctions): number {
  switch (cost.kind) {
    case "constant":
      return cost.units;
    case "method":
      return cost.byMethod.get(facts.method.toUpperCase()) ?? cost.otherwise;
    case "header":
      return fromHeader(cost, facts);
    case "function": {
      const found = functions.get(cost.name);
      if (found === undefined) {
        throw new SluiceError("SLUICE_OPTION_INVALID", `no cost function ${show(cost.name)}`);
      }
      return toCost(found(facts));
    }
  }
}

function fromHeader(cost: Cost & { kind: "header" }, facts: Facts): number {
  const text = facts.headers?.[cost.name];
  if (typeof text !== "string" || !/^\d{1,15}$/.test(text)) return cost.otherwise;
  return Math.min(cost.max, Math.max(cost.min, Number(text)));
}
