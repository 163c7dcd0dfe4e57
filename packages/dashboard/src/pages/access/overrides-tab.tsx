// Overrides: other limits of one rule for one caller, with a reason and usually an end.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Field } from "../../ui/field.js";
import { KeyText } from "../../ui/key-text.js";
import { fromLocalTime, toLocalTime } from "../../ui/local-time.js";
import { type Column, Table } from "../../ui/table.js";
import { toRuleAddress } from "../rules/addresses.js";
import { EditDialog } from "./edit-dialog.js";
import { Expiry } from "./expiry.js";
import { Filter } from "./filter.js";
import { toLimit, toLimitText } from "./lines.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { SubjectLink } from "./subject-link.js";
import { ListCard, useList } from "./tab.js";

type Override = ReplyOf<"override">;

/** The tab. */
export function OverridesTab() {
  const mayAct = useMay("operator");
  const answer = useList("overrides", "/v1/overrides", ["subject"]);
  const [edited, setEdited] = useState<Override | "new">();
  const [removal, setRemoval] = useState<Removal>();
  return (
    <ListCard
      title="Overrides"
      lead="Other limits for one caller under one rule, instead of those of the rule, the tier and the plan."
      actions={mayAct && <Button onClick={() => setEdited("new")}>New override</Button>}
      filters={<Filter name="subject" label="Filter by caller" placeholder="tenant:acme" />}
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="Overrides"
            columns={mayAct ? [...COLUMNS, actsColumn(setEdited, setRemoval)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="There are no such overrides."
          />
          {edited !== undefined && (
            <OverrideDialog
              override={edited === "new" ? undefined : edited}
              onClose={() => setEdited(undefined)}
              onDone={answer.reload}
            />
          )}
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

const COLUMNS: readonly Column<Override>[] = [
  { name: "Who", cell: ({ subject }) => <SubjectLink subject={subject} /> },
  {
    name: "Rule",
    cell: ({ rule }) => <a href={toRuleAddress(rule)}>{rule}</a>,
  },
  { name: "Limit", cell: ({ limit }) => <code>{toLimitText(limit)}</code> },
  { name: "Ends", cell: ({ endsAtMs }) => <Expiry atMs={endsAtMs} /> },
  { name: "Why", cell: ({ reason }) => <KeyText value={reason} /> },
];

function actsColumn(
  onEdit: (override: Override) => void,
  onRemove: (removal: Removal) => void,
): Column<Override> {
  return {
    name: "",
    cell: (override) => (
      <div class="actions">
        <Button
          label={`Edit the override for ${override.subject}`}
          onClick={() => onEdit(override)}
        >
          Edit
        </Button>
        <Button
          label={`Remove the override for ${override.subject}`}
          onClick={() =>
            onRemove({
              path: `/v1/overrides/${override.id}`,
              revision: override.revision,
              title: `Remove the override for ${override.subject}`,
              verb: "Remove",
              children: `The limits of ${override.rule}, its tiers and plans hold again.`,
              doneText: "The override was removed.",
            })
          }
        >
          Remove
        </Button>
      </div>
    ),
  };
}

interface OverrideDialogProps {
  readonly override: Override | undefined;
  onClose(): void;
  onDone(): Promise<void>;
}

const NEW = { subject: "", rule: "", limit: "", end: "" };

function OverrideDialog({ override, ...ends }: OverrideDialogProps) {
  const [fields, setFields] = useState(override === undefined ? NEW : toFields(override));
  const [revision, setRevision] = useState(override?.revision);
  const field = (name: keyof typeof NEW) => ({
    value: fields[name],
    onInput: (value: string) => setFields({ ...fields, [name]: value }),
  });
  const save = (reason: string) => {
    const endsAtMs = fromLocalTime(fields.end);
    const path = override === undefined ? "/v1/overrides" : `/v1/overrides/${override.id}`;
    return ask("override", path, {
      method: override === undefined ? "POST" : "PUT",
      ...(revision === undefined ? {} : { ifMatch: revision }),
      body: {
        subject: fields.subject.trim(),
        rule: fields.rule.trim(),
        limit: toLimit(fields.limit.trim()),
        reason,
        ...(endsAtMs !== undefined && { endsAtMs }),
      },
    });
  };
  const showCurrent = (current: Override) => {
    setRevision(current.revision);
    setFields(toFields(current));
  };
  return (
    <EditDialog<Override>
      title={override === undefined ? "New override" : `Edit the override for ${override.subject}`}
      verb="Save"
      doneText={`${fields.subject.trim()} has other limits under ${fields.rule.trim()}.`}
      isComplete={[fields.subject, fields.rule, fields.limit].every((text) => text.trim() !== "")}
      needsReason
      save={save}
      onConflict={showCurrent}
      {...ends}
    >
      <Field label="Caller" placeholder="tenant:acme" {...field("subject")} />
      <Field label="Rule" {...field("rule")} />
      <Field
        label="Limit"
        placeholder="100/minute"
        hint="As in a rule: 100/minute, 5000/day, or unlimited."
        {...field("limit")}
      />
      <Field
        label="Ends"
        type="datetime-local"
        hint="In your time zone. Empty: when it is removed."
        {...field("end")}
      />
    </EditDialog>
  );
}

function toFields({ subject, rule, limit, endsAtMs }: Override): typeof NEW {
  const end = endsAtMs === undefined ? "" : toLocalTime(endsAtMs);
  return { subject, rule, limit: toLimitText(limit), end };
}
