// Routes of tenants: customers, each with its plan.

import { tenantShape } from "../../../control/entities/tenants.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { collectionRoutes } from "./collection-routes.js";

/** The routes of tenants. */
export const tenantRoutes = collectionRoutes({
  path: "/v1/tenants",
  noun: "tenant",
  of: ({ tenants }) => tenants,
  shape: tenantShape,
  one: controlAnswers.tenant,
  page: controlAnswers.tenants,
  writer: "admin",
  filter: { name: "plan", about: "Only tenants on this plan." },
});
