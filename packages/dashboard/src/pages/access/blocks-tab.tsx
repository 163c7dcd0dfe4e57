// Blocks: callers and addresses that every node refuses.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { fromLocalTime } from "../../ui/formats/local-time.js";
import { Field, TextArea } from "../../ui/forms/field.js";
import type { Column } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";
import { EditDialog } from "./edit-dialog.js";
import { Expiry } from "./expiry.js";
import { type DialogEnds, ListTab, type RowAct } from "./list-tab.js";
import { SubjectLink } from "./subject-link.js";

type Block = ReplyOf<"blockEntry">;

const SUBJECTS_SHOWN = 5;

/** The tab. */
export function BlocksTab() {
  return (
    <ListTab
      title="Blocks"
      lead="Callers and addresses that every node refuses, whatever the rules say."
      reply="blocks"
      path="/v1/blocks"
      changedBy="operator"
      newName="New block"
      newDialog={(ends) => <BlockDialog {...ends} />}
      columns={COLUMNS}
      acts={actsOf}
      empty="No caller is blocked everywhere. Blocks under a single rule are on the page Key."
    />
  );
}

const COLUMNS: readonly Column<Block>[] = [
  {
    name: "Who",
    cell: ({ subjects }) => (
      <span class="access-subjects">
        {subjects.slice(0, SUBJECTS_SHOWN).map((subject) => (
          <SubjectLink key={subject} subject={subject} />
        ))}
        {subjects.length > SUBJECTS_SHOWN && (
          <small>and {subjects.length - SUBJECTS_SHOWN} more</small>
        )}
      </span>
    ),
  },
  { name: "Ends", cell: ({ endsAtMs }) => <Expiry atMs={endsAtMs} /> },
  { name: "Why", cell: ({ reason }) => <KeyText value={reason} /> },
];

function actsOf({ id, revision, subjects }: Block): readonly RowAct[] {
  return [
    {
      verb: "Remove",
      label: `Remove the block of ${subjects[0]}`,
      open: {
        path: `/v1/blocks/${id}`,
        revision,
        title: "Remove the block",
        verb: "Remove",
        children: "Every node decides by the rules again within two seconds.",
        doneText: "The block was removed.",
      },
    },
  ];
}

function BlockDialog(ends: DialogEnds) {
  const [subjects, setSubjects] = useState("");
  const [end, setEnd] = useState("");
  const listed = subjects.split(/\s+/).filter((subject) => subject !== "");
  const save = (reason: string) => {
    const endsAtMs = fromLocalTime(end);
    const body = { subjects: listed, reason, ...(endsAtMs !== undefined && { endsAtMs }) };
    return ask("blockEntry", "/v1/blocks", { method: "POST", body });
  };
  return (
    <EditDialog
      title="New block"
      verb="Block"
      doneText="They are blocked on every node."
      isComplete={listed.length > 0}
      needsReason
      save={save}
      {...ends}
    >
      <TextArea
        label="Who"
        value={subjects}
        onInput={setSubjects}
        placeholder={"ip:203.0.113.0/24\ntenant:acme"}
        hint="One on each line: an address, a range, a tenant, a user or an API key."
      />
      <Field
        label="Ends"
        type="datetime-local"
        value={end}
        onInput={setEnd}
        hint="In your time zone. Empty: when it is removed."
      />
    </EditDialog>
  );
}
