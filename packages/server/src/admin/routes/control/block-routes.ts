// Routes of blocks: callers and addresses that every node refuses.

import { blockShape } from "../../../control/entities/blocks.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { collectionRoutes } from "./collection-routes.js";

/** A block may list thousands of addresses. */
const BODY_BYTES_MAX = 4 << 20;

/** The routes of blocks. */
export const blockRoutes = collectionRoutes({
  path: "/v1/blocks",
  noun: "block",
  of: ({ blocks }) => blocks,
  shape: blockShape,
  one: controlAnswers.blockEntry,
  page: controlAnswers.blocks,
  writer: "operator",
  makesIds: true,
  bodyBytesMax: BODY_BYTES_MAX,
});
