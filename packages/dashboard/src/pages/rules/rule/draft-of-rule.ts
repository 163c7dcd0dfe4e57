// Makes a draft of the published rules in which one field of one rule says something else.

import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../../api/client.js";
import type { RuleEdit } from "../edit/yaml/set-field.js";

export type { RuleEdit } from "../edit/yaml/set-field.js";

/** @throws ApiError, or Error if the rule is not found in the published rules as they were written. */
export async function draftOfRule(
  id: string,
  edit: RuleEdit,
  reason: string,
): Promise<ReplyOf<"ruleSet">> {
  const [{ setField }, published] = await Promise.all([
    import("../edit/yaml/set-field.js"),
    ask("ruleSet", "/v1/rule-sets/published"),
  ]);
  const text = setField(published.text, id, edit);
  if (text === undefined)
    throw new Error(
      `${id} can't be edited from here: open the editor and set ${edit.field} there.`,
    );
  const body = { text, ...(reason !== "" && { reason }) };
  return ask("ruleSet", "/v1/rule-sets", { method: "POST", body });
}
