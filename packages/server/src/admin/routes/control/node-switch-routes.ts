// Routes of the switches of this node alone. They need no database, so that an operator can stop the limiter, or open it,
// while the database is unavailable; and they are answered on followers too.

import { object } from "sluice/shapes";
import { ServerError } from "../../../base/errors.js";
import { ALL_RULES, switchShape } from "../../../control/entities/switches.js";
import type { NodeSwitching } from "../../../control/node-switching.js";
import { json } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange } from "../../request/change-request.js";
import { type AdminContext, type Route, route } from "../../route.js";
import * as verbs from "../counters/counter-verbs.js";
import { onlyReason } from "./collection-routes.js";

const path = "/v1/node/switches";

/** The routes of the switches of this node. */
export const nodeSwitchRoutes: readonly Route[] = [
  route({
    method: "GET",
    path,
    role: "viewer",
    summary: "The switches of this node alone, by rule.",
    reply: controlAnswers.nodeSwitches,
    handle: (context) => json({ items: switchingOf(context).list(), next: null }),
  }),
  route({
    method: "PUT",
    path: `${path}/{rule}`,
    role: "operator",
    summary:
      "Switches a rule on this node alone, or all rules under `*`. Needs no database; it holds until it is removed or the node ends.",
    input: object(switchShape.fields),
    reply: controlAnswers.nodeSwitch,
    handle: async (context, request) => {
      const { rule } = request.params;
      const switching = switchingOf(context);
      if (rule !== ALL_RULES) verbs.mustExist(context.core, rule);
      return json(await switching.set(toChange(request), { rule, ...request.input }));
    },
  }),
  route({
    method: "DELETE",
    path: `${path}/{rule}`,
    role: "operator",
    summary: "Ends the switch of a rule on this node; that of the control plane holds again.",
    input: onlyReason,
    reply: controlAnswers.removed,
    handle: async (context, request) => {
      const { rule } = request.params;
      await switchingOf(context).remove(toChange(request), rule);
      return json({ id: rule, removed: true });
    },
  }),
];

function switchingOf({ control: { nodeSwitching } }: AdminContext): NodeSwitching {
  if (nodeSwitching !== undefined) return nodeSwitching;
  const seen = `${path} needs a control plane; without one use POST /v1/rules/{id}/disable`;
  throw new ServerError("SLUICE_NOT_FOUND", seen);
}
