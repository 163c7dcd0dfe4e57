// Blocks: callers and addresses that every node refuses.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Field, TextArea } from "../../ui/field.js";
import { KeyText } from "../../ui/key-text.js";
import { fromLocalTime } from "../../ui/local-time.js";
import { type Column, Table } from "../../ui/table.js";
import { EditDialog } from "./edit-dialog.js";
import { Expiry } from "./expiry.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { SubjectLink } from "./subject-link.js";
import { ListCard, useList } from "./tab.js";

type Block = ReplyOf<"blockEntry">;

const SUBJECTS_SHOWN = 5;

/** The tab. */
export function BlocksTab() {
  const mayAct = useMay("operator");
  const answer = useList("blocks", "/v1/blocks");
  const [isMaking, setIsMaking] = useState(false);
  const [removal, setRemoval] = useState<Removal>();
  return (
    <ListCard
      title="Blocks"
      lead="Callers and addresses that every node refuses, whatever the rules say."
      actions={mayAct && <Button onClick={() => setIsMaking(true)}>New block</Button>}
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="Blocks"
            columns={mayAct ? [...COLUMNS, removeColumn(setRemoval)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="No caller is blocked everywhere. Blocks under a single rule are on the page Key."
          />
          {isMaking && <BlockDialog onClose={() => setIsMaking(false)} onDone={answer.reload} />}
          {removal !== undefined && (
            <RemoveDialog
              removal={removal}
              onClose={() => setRemoval(undefined)}
              onDone={answer.reload}
            />
          )}
        </>
      )}
    </ListCard>
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

function removeColumn(onRemove: (removal: Removal) => void): Column<Block> {
  return {
    name: "",
    cell: ({ id, revision, subjects }) => (
      <Button
        label={`Remove the block of ${subjects[0]}`}
        onClick={() =>
          onRemove({
            path: `/v1/blocks/${id}`,
            revision,
            title: "Remove the block",
            verb: "Remove",
            children: "Every node decides by the rules again within two seconds.",
            doneText: "The block was removed.",
          })
        }
      >
        Remove
      </Button>
    ),
  };
}

interface BlockDialogProps {
  onClose(): void;
  onDone(): Promise<void>;
}

function BlockDialog(ends: BlockDialogProps) {
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
