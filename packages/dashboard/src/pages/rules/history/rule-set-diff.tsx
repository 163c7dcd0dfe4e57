// What a change of rules means: which rules come, go and change, and what becomes of their counters.

import type { ReplyOf } from "sluice-server/api";
import { Badge } from "../../../ui/page/page.js";

type Diff = ReplyOf<"ruleSetDiff">;

const FATES: Readonly<Record<string, string>> = {
  kept: "counters stay",
  carried: "what was used carries over",
  empty: "counters start empty",
};
const SHOWN_MAX = 200;

/** The difference, rule by rule. */
export function RuleSetDiff({ diff }: { readonly diff: Diff }) {
  const { fields, added, removed, changed } = diff;
  const count = fields.length + added.length + removed.length + changed.length;
  if (count === 0) return <p>Both versions have the same rules.</p>;
  return (
    <>
      <ul class="rules-diff" aria-label="Changes">
        {fields.length > 0 && (
          <li>
            <Badge kind="info">changed</Badge> for all rules: {fields.join(", ")}
          </li>
        )}
        {removed.slice(0, SHOWN_MAX).map((id) => (
          <li key={`-${id}`}>
            <Badge kind="bad">removed</Badge> <strong>{id}</strong>
          </li>
        ))}
        {added.slice(0, SHOWN_MAX).map((id) => (
          <li key={`+${id}`}>
            <Badge kind="good">added</Badge> <strong>{id}</strong>
          </li>
        ))}
        {changed.slice(0, SHOWN_MAX).map(({ id, fields: names = [], counters = "kept" }) => (
          <li key={id}>
            <Badge kind="info">changed</Badge> <strong>{id}</strong>: {names.join(", ")}{" "}
            <small>{FATES[counters] ?? counters}</small>
          </li>
        ))}
      </ul>
      {count > SHOWN_MAX && <p class="note">Not all are listed: {count} changes.</p>}
    </>
  );
}
