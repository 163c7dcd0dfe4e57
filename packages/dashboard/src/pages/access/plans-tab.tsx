// Plans: what tenants pay for.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { Field, TextArea } from "../../ui/forms/field.js";
import type { Column } from "../../ui/tables/table.js";
import { EditDialog } from "./edit-dialog.js";
import { fromLines, toLines } from "./lines.js";
import { type DialogEnds, ListTab, type RowAct } from "./list-tab.js";

type Plan = ReplyOf<"plan">;

/** The tab. */
export function PlansTab() {
  return (
    <ListTab
      title="Plans"
      lead="A plan stands for a tier of the rules, and may have limits of its own."
      reply="plans"
      path="/v1/plans"
      changedBy="admin"
      newName="New plan"
      newDialog={(ends) => <PlanDialog plan={undefined} {...ends} />}
      columns={COLUMNS}
      acts={actsOf}
      empty="There are no plans yet. Tenants without a plan have the limits of the rules."
    />
  );
}

const COLUMNS: readonly Column<Plan>[] = [
  { name: "Plan", cell: ({ id }) => <b>{id}</b> },
  { name: "Tier", cell: ({ tier }) => tier ?? "–" },
  {
    name: "Limits of its own",
    cell: ({ limits }) => <span class="access-lines">{toLines(limits) || "–"}</span>,
  },
  {
    name: "Tenants",
    cell: ({ id }) => (
      <a href={`/dashboard/access/tenants?plan=${encodeURIComponent(id)}`}>On this plan</a>
    ),
  },
];

function actsOf(plan: Plan): readonly RowAct[] {
  const { id, revision } = plan;
  return [
    {
      verb: "Edit",
      label: `Edit plan ${id}`,
      open: (ends) => <PlanDialog plan={plan} {...ends} />,
    },
    {
      verb: "Remove",
      label: `Remove plan ${id}`,
      open: {
        path: `/v1/plans/${id}`,
        revision,
        title: `Remove plan ${id}`,
        verb: "Remove",
        children: "A plan that tenants are on can't be removed.",
        doneText: `Plan ${id} was removed.`,
      },
    },
  ];
}

interface PlanDialogProps extends DialogEnds {
  readonly plan: Plan | undefined;
}

function PlanDialog({ plan, onClose, onDone }: PlanDialogProps) {
  const [id, setId] = useState(plan?.id ?? "");
  const [revision, setRevision] = useState(plan?.revision);
  const [tier, setTier] = useState(plan?.tier ?? "");
  const [limits, setLimits] = useState(toLines(plan?.limits ?? {}));
  const save = (reason: string) =>
    ask("plan", `/v1/plans/${encodeURIComponent(id.trim())}`, {
      method: "PUT",
      ...(revision === undefined ? {} : { ifMatch: revision }),
      body: {
        limits: fromLines(limits),
        ...(tier.trim() !== "" && { tier: tier.trim() }),
        ...(reason !== "" && { reason }),
      },
    });
  const showCurrent = (current: Plan) => {
    setRevision(current.revision);
    setTier(current.tier ?? "");
    setLimits(toLines(current.limits));
  };
  return (
    <EditDialog<Plan>
      title={plan === undefined ? "New plan" : `Edit plan ${plan.id}`}
      verb="Save"
      doneText={`Plan ${id.trim()} was saved.`}
      isComplete={id.trim() !== ""}
      save={save}
      onConflict={showCurrent}
      onClose={onClose}
      onDone={onDone}
    >
      {plan === undefined && <Field label="Name" value={id} onInput={setId} placeholder="pro" />}
      <Field
        label="Tier"
        value={tier}
        onInput={setTier}
        hint="The tier of the rules that it stands for. Empty: none."
      />
      <TextArea
        label="Limits of its own"
        value={limits}
        onInput={setLimits}
        placeholder="search: 100/minute"
        hint="One rule on each line, instead of the numbers of the tier."
      />
    </EditDialog>
  );
}
