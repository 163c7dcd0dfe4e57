// Routes of overrides: other limits for one caller under one rule.

import { overrideShape } from "../../../control/entities/overrides.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { collectionRoutes } from "./collection-routes.js";

/** The routes of overrides. */
export const overrideRoutes = collectionRoutes({
  path: "/v1/overrides",
  noun: "override",
  of: ({ overrides }) => overrides,
  shape: overrideShape,
  one: controlAnswers.override,
  page: controlAnswers.overrides,
  writer: "operator",
  filter: { name: "subject", about: "Only overrides for this caller: `tenant:acme`." },
  makesIds: true,
});
