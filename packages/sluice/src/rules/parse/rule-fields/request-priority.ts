// How important the requests of a rule are when load is shed, as a file writes it: `requestPriority`.

import { PRIORITIES } from "../../../adaptive/priority.js";
import {
  as,
  choice,
  either,
  isRecord,
  mapOf,
  object,
  required,
  type Shape,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { RequestPriority } from "../../rule.js";
import { headerName, ownName } from "./names.js";

const PLANS_MAX = 64;

const priority = choice(PRIORITIES);
const otherwise = withDefault(priority, "normal", "The priority of all others.");

const byPlan = object({
  plan: required(
    mapOf(ownName, priority, { countMax: PLANS_MAX }),
    "Priorities by the plan of the caller's tenant.",
  ),
  otherwise,
});

const byHeader = object({
  header: required(headerName, "The header that says it. Only that of a trusted proxy counts."),
  otherwise,
});

/** The forms of `requestPriority` that are objects. */
export const priorityForms = [byPlan, byHeader] as const;

const PRIORITY = `one of ${PRIORITIES.join(", ")}, or an object with plan or header`;

/** How important requests are. */
export const requestPriority: Shape<RequestPriority> = either(PRIORITY, [
  {
    fits: (given) => typeof given === "string",
    shape: as(priority, (said): RequestPriority => ({ kind: "constant", priority: said })),
  },
  {
    fits: (given) => isRecord(given) && "plan" in given,
    shape: as(
      byPlan,
      ({ plan, otherwise: others }): RequestPriority => ({
        kind: "plan",
        byPlan: plan,
        otherwise: others,
      }),
    ),
  },
  {
    fits: (given) => isRecord(given) && "header" in given,
    shape: as(
      byHeader,
      ({ header, otherwise: others }): RequestPriority => ({
        kind: "header",
        name: header,
        otherwise: others,
      }),
    ),
  },
]);
