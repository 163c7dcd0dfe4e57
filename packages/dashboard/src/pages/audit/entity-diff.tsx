// What something said before and after, field by field; texts of several lines, such as rules, line by line.

import { escapeUnseen } from "../../ui/key-text.js";
import { type FieldChange, fieldChanges, lineChanges } from "./changed-fields.js";

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

function Change({ change: { field, before, after } }: { readonly change: FieldChange }) {
  const isLong = `${before ?? ""}${after ?? ""}`.includes("\n");
  return (
    <tr>
      <th scope="row">{escapeUnseen(field)}</th>
      {isLong ? (
        <td colSpan={2}>
          <pre class="audit-lines">
            {lineChanges(before ?? "", after ?? "").map(({ mark, line }, at) => (
              <span key={at} class={mark === "-" ? "removed" : mark === "+" ? "added" : undefined}>
                {`${mark} ${escapeUnseen(line)}\n`}
              </span>
            ))}
          </pre>
        </td>
      ) : (
        <>
          <td class={before === undefined ? undefined : "removed"}>
            {before === undefined ? "–" : escapeUnseen(before)}
          </td>
          <td class={after === undefined ? undefined : "added"}>
            {after === undefined ? "–" : escapeUnseen(after)}
          </td>
        </>
      )}
    </tr>
  );
}
