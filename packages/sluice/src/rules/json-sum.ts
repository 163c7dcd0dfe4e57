// Numbers of a JSON body, added up as a rule says: the first usable alternative of each term.

import type { JsonPath, JsonSum } from "./rule.js";

/**
 * Adds up the terms. A term without a usable number adds nothing; undefined if none has one. What `numberAt` returns is
 * usable if it is a whole number from 0 that doubles represent exactly, or above all of them.
 */
export function addUp(
  sum: JsonSum,
  numberAt: (path: JsonPath) => number | undefined,
): number | undefined {
  let total: number | undefined;
  for (const term of sum) {
    for (const path of term) {
      const found = numberAt(path);
      if (found === undefined || !isUsable(found)) continue;
      total = (total ?? 0) + found;
      break;
    }
  }
  return total;
}

/** Whether it can be a number of units. Those beyond any limit are usable: they are capped, or refused as too many. */
function isUsable(number: number): boolean {
  return number >= 0 && (Number.isInteger(number) || number === Number.POSITIVE_INFINITY);
}

/** The number at a path of a parsed body; undefined if there is none. Only own fields count, and no lists. */
export function numberIn(body: unknown, path: JsonPath): number | undefined {
  let value = body;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return typeof value === "number" ? value : undefined;
}
