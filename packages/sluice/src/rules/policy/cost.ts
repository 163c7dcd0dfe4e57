// What a request costs, before it is answered.

import { toCost } from "../../limiter/verb-input.js";
import type { Facts } from "../facts.js";
import { addUp, numberIn } from "../json-sum.js";
import type { Cost } from "../rule.js";

/** A cost by code: whole units from 0. Anything else, and what it throws, is an error of the request. */
export type CostFunction = (facts: Facts) => number;

/** By the name that rules use. */
export type CostFunctions = ReadonlyMap<string, CostFunction>;

/** The units that a request costs under a rule; 1 by a function that is not there. */
export function toUnits(cost: Cost, facts: Facts, functions: CostFunctions): number {
  switch (cost.kind) {
    case "constant":
      return cost.units;
    case "method":
      return byMethod(cost, facts.method.toUpperCase());
    case "header":
      return fromHeader(cost, facts);
    case "json":
      return fromBody(cost, facts);
    case "function":
      return toCost((functions.get(cost.name) ?? one)(facts));
  }
}

function one(): number {
  return 1;
}

/** GET stands for HEAD too, as in a match. */
function byMethod({ byMethod, otherwise }: Cost & { kind: "method" }, method: string): number {
  const units = byMethod.get(method) ?? (method === "HEAD" ? byMethod.get("GET") : undefined);
  return units ?? otherwise;
}

function fromHeader(cost: Cost & { kind: "header" }, facts: Facts): number {
  const units = toWholeUnits(facts.headers?.[cost.name]);
  return units === undefined ? cost.otherwise : Math.min(cost.max, Math.max(cost.min, units));
}

/** A number beyond `max` counts as `max`, also one that JSON can write and a double can't hold. */
function fromBody(cost: Cost & { kind: "json" }, { body }: Facts): number {
  const units = addUp(cost.sum, (path) => numberIn(body, path));
  return units === undefined ? cost.otherwise : Math.min(cost.max, Math.max(cost.min, units));
}

/** The units that a header's text says; undefined if it is not a plain whole number. */
export function toWholeUnits(text: unknown): number | undefined {
  return typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
