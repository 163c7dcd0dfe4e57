// What a request costs, before and after its response, as a file writes it: `cost` and `settle`.

import { UNITS_MAX } from "../../../algorithms/numbers.js";
import {
  as,
  choice,
  either,
  isRecord,
  mapOf,
  object,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { Cost, SettleBy } from "../../rule.js";
import { jsonSum } from "./json-sum.js";
import { headerName, method, ownName } from "./names.js";

const METHODS_MAX = 64;

const costUnits = wholeNumber({ min: 0, max: UNITS_MAX });
const otherwise = withDefault(costUnits, 1, "What all others cost.");

const costByMethod = object({
  methods: required(mapOf(method, costUnits, { countMax: METHODS_MAX }), "Units by method."),
  otherwise,
});

const costByHeader = object({
  header: required(headerName, "The header that says it, as a whole number."),
  min: withDefault(costUnits, 1, "The least that counts, whatever the header says."),
  max: required(costUnits, "The most: a client must not choose its cost without bound."),
  otherwise: withDefault(costUnits, 1, "Without a usable header."),
});

const costByJson = object({
  json: required(jsonSum, "Where the number is in the request's JSON body; a list is added up."),
  min: withDefault(costUnits, 1, "The least that counts, whatever the body says."),
  max: required(costUnits, "The most: a client must not choose its cost without bound."),
  otherwise: withDefault(costUnits, 1, "Without a usable number."),
});

const costByFunction = object({
  function: required(ownName, "The name of a function that the policy was given in `costs`."),
});

/** The forms of `cost` that are objects. */
export const costForms = [costByMethod, costByHeader, costByJson, costByFunction] as const;

const COST = "a number or an object with methods, header, json or function";

/** What a request costs before it is answered. */
export const cost: Shape<Cost> = either(COST, [
  {
    fits: (given) => typeof given === "number",
    shape: as(costUnits, (units): Cost => ({ kind: "constant", units })),
  },
  {
    fits: (given) => isRecord(given) && "methods" in given,
    shape: as(
      costByMethod,
      (given): Cost => ({ kind: "method", byMethod: given.methods, otherwise: given.otherwise }),
    ),
  },
  {
    fits: (given) => isRecord(given) && "header" in given,
    shape: as(costByHeader, (given, spot): Cost | undefined => {
      const { header, min, max } = given;
      if (min > max) return spot.say(`min ${min} is above max ${max}`);
      return { kind: "header", name: header, min, max, otherwise: given.otherwise };
    }),
  },
  {
    fits: (given) => isRecord(given) && "json" in given,
    shape: as(costByJson, (given, spot): Cost | undefined => {
      const { json, min, max } = given;
      if (min > max) return spot.say(`min ${min} is above max ${max}`);
      return { kind: "json", sum: json, min, max, otherwise: given.otherwise };
    }),
  },
  {
    fits: (given) => isRecord(given) && "function" in given,
    shape: as(costByFunction, (given): Cost => ({ kind: "function", name: given.function })),
  },
]);

const settleByHeader = object({
  header: required(headerName, "The header of the response that says the real cost."),
});

const settleByJson = object({
  json: required(jsonSum, "Where the number is in the response's body; a list is added up."),
  onAbort: withDefault(
    choice(["estimated", "seen"]),
    "estimated",
    "What a response that was cut short costs: what was reserved, or what was seen until then.",
  ),
});

/** The forms of `settle` that are objects. */
export const settleForms = [settleByHeader, settleByJson] as const;

/** Where the real cost comes from. */
export const settle: Shape<SettleBy> = either("code, bytes or an object with header or json", [
  {
    fits: (given) => typeof given === "string",
    shape: as(choice(["code", "bytes"]), (kind): SettleBy => ({ kind })),
  },
  {
    fits: (given) => isRecord(given) && "json" in given,
    shape: as(
      settleByJson,
      ({ json, onAbort }): SettleBy => ({ kind: "json", sum: json, onAbort }),
    ),
  },
  {
    fits: isRecord,
    shape: as(settleByHeader, ({ header }): SettleBy => ({ kind: "header", name: header })),
  },
]);
