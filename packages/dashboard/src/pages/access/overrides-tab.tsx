// Overrides: other limits of one rule for one caller, with a reason and usually an end.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { fromLocalTime, toLocalTime } from "../../ui/formats/local-time.js";
import { Field } from "../../ui/forms/field.js";
import type { Column } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";
import { toRuleAddress } from "../rules/addresses.js";
import { EditDialog } from "./edit-dialog.js";
import { Expiry } from "./expiry.js";
import { toLimit, toLimitText } from "./lines.js";
import { type DialogEnds, ListTab, type RowAct } from "./list-tab.js";
import { SubjectLink } from "./subject-link.js";

type Override = ReplyOf<"override">;

const FILTERS = [{ name: "subject", label: "Filter by caller", placeholder: "tenant:acme" }];

/** The tab. */
export function OverridesTab() {
  return (
    <ListTab
      title="Overrides"
      lead="Other limits for one caller under one rule, instead of those of the rule, the tier and the plan."
      reply="overrides"
      path="/v1/overrides"
      filters={FILTERS}
      changedBy="operator"
      newName="New override"
      newDialog={(ends) => <OverrideDialog override={undefined} {...ends} />}
      columns={COLUMNS}
      acts={actsOf}
      empty="There are no such overrides."
    />
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

function actsOf(override: Override): readonly RowAct[] {
  const { id, revision, subject, rule } = override;
  return [
    {
      verb: "Edit",
      label: `Edit the override for ${subject}`,
      open: (ends) => <OverrideDialog override={override} {...ends} />,
    },
    {
      verb: "Remove",
      label: `Remove the override for ${subject}`,
      open: {
        path: `/v1/overrides/${id}`,
        revision,
        title: `Remove the override for ${subject}`,
        verb: "Remove",
        children: `The limits of ${rule}, its tiers and plans hold again.`,
        doneText: "The override was removed.",
      },
    },
  ];
}

interface OverrideDialogProps extends DialogEnds {
  readonly override: Override | undefined;
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
