// Routes of plans: the limits that tenants pay for.

import { planShape } from "../../../control/entities/plans.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { collectionRoutes } from "./collection-routes.js";

/** The routes of plans. */
export const planRoutes = collectionRoutes({
  path: "/v1/plans",
  noun: "plan",
  of: ({ plans }) => plans,
  shape: planShape,
  one: controlAnswers.plan,
  page: controlAnswers.plans,
  writer: "admin",
});
