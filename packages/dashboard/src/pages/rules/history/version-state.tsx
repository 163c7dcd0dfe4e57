// Where a version of the rules stands.

import type { ReplyOf } from "sluice-server/api";
import { Badge } from "../../../ui/page/page.js";

/** A version without its text. */
export type VersionHead = ReplyOf<"ruleSets">["items"][number];

const KINDS = { draft: "info", published: "good", superseded: "plain" } as const;

/** In a word. */
export function VersionState({ status }: Pick<VersionHead, "status">) {
  return <Badge kind={KINDS[status]}>{status}</Badge>;
}
