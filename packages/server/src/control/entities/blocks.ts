// Blocks: callers and addresses that every node refuses because an operator said so.

import { listOf, object, type ReadAs, required } from "sluice/shapes";
import { ServerError } from "../../base/errors.js";
import type { CollectionKind } from "./collection.js";
import { endsAtMs, reason } from "./entity-shapes.js";
import { anySubject } from "./subjects.js";

const SUBJECTS_MAX = 10_000;
/** What policies take of all blocks: with one more, none of them would come into force. */
const SUBJECTS_IN_ALL_MAX = 1_000_000;

/** Callers and addresses that are refused, whatever the rules say. */
export const blockShape = object({
  subjects: required(listOf(anySubject, { countMax: SUBJECTS_MAX }), "Who is blocked."),
  endsAtMs,
  reason,
});

/** A block. */
export type Block = ReadAs<typeof blockShape>;

/** Blocks. */
export const blocks: CollectionKind<Block> = {
  kind: "block",
  noun: "block",
  shape: blockShape,
  check: async ({ id, body }, entities) => {
    const others = (await entities.all("block")).filter((block) => block.id !== id);
    const counts = others.map((block) => (block.body as unknown as Block).subjects.length);
    const count = counts.reduce((sum, each) => sum + each, body.subjects.length);
    if (count <= SUBJECTS_IN_ALL_MAX) return;
    throw new ServerError(
      "SLUICE_CONFLICT",
      `${count} subjects would be blocked, at most ${SUBJECTS_IN_ALL_MAX} can be`,
    );
  },
};
