// Routes of switches: the kill switch of one rule, or of all rules under the id `*`. A rule without a switch is on.

import { switchShape } from "../../../control/entities/switches.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { collectionRoutes } from "./collection-routes.js";

/** The routes of switches. */
export const switchRoutes = collectionRoutes({
  path: "/v1/switches",
  noun: "switch",
  of: ({ switches }) => switches,
  shape: switchShape,
  one: controlAnswers.switch,
  page: controlAnswers.switches,
  writer: "operator",
  param: "rule",
});
