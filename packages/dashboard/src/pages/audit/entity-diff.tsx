// What something said before and after, field by field; texts of several lines, such as rules, line by line.

import { escapeUnseen } from "../../ui/text/key-text.js";
import { cutAround } from "../../ui/text/line-changes.js";
import { LineDiff } from "../../ui/text/line-diff.js";
import { type FieldChange, fieldChanges } from "./changed-fields.js";

type Body = Readonly<Record<string, unknown>> | undefined;

interface EntityDiffProps {
  readonly before: Body;
  readonly after: Body;
}

/** The fields that differ. */
export function EntityDiff({ before, after }: EntityDiffProps) {
  const changes = fieldChanges(before ?? {}, after ?? {});
  if (changes.length === 0) return <p class="note">No field changed.</p>;
  return (
    <table class="audit-diff">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <Change key={change.field} change={change} />
        ))}
      </tbody>
    </table>
  );
}

function Change({ change }: { readonly change: FieldChange }) {
  const { field, before = "", after = "" } = change;
  return (
    <tr>
      <th scope="row">{escapeUnseen(field)}</th>
      {before.includes("\n") || after.includes("\n") ? (
        <td colSpan={2}>
          <LineDiff before={before} after={after} />
        </td>
      ) : (
        <>
          <Value value={change.before} other={after} kind="removed" />
          <Value value={change.after} other={before} kind="added" />
        </>
      )}
    </tr>
  );
}

interface ValueProps {
  readonly value: string | undefined;
  readonly other: string;
  readonly kind: "removed" | "added";
}

function Value({ value, other, kind }: ValueProps) {
  if (value === undefined) return <td>–</td>;
  return <td class={kind}>{escapeUnseen(cutAround(value, firstDifference(value, other)))}</td>;
}

function firstDifference(value: string, other: string): number {
  let at = 0;
  while (at < value.length && value[at] === other[at]) at++;
  return at;
}
