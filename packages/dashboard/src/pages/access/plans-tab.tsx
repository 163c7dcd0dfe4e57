// Plans: what tenants pay for.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Field, TextArea } from "../../ui/field.js";
import { type Column, Table } from "../../ui/table.js";
import { EditDialog } from "./edit-dialog.js";
import { fromLines, toLines } from "./lines.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { ListCard, useList } from "./tab.js";

type Plan = ReplyOf<"plan">;

/** The tab. */
export function PlansTab() {
  const isAdmin = useMay("admin");
  const answer = useList("plans", "/v1/plans");
  const [edited, setEdited] = useState<Plan | "new">();
  const [removal, setRemoval] = useState<Removal>();
  return (
    <ListCard
      title="Plans"
      lead="A plan stands for a tier of the rules, and may have limits of its own."
      actions={isAdmin && <Button onClick={() => setEdited("new")}>New plan</Button>}
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="Plans"
            columns={isAdmin ? [...COLUMNS, actsColumn(setEdited, setRemoval)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="There are no plans yet. Tenants without a plan have the limits of the rules."
          />
          {edited !== undefined && (
            <PlanDialog
              plan={edited === "new" ? undefined : edited}
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

function actsColumn(
  onEdit: (plan: Plan) => void,
  onRemove: (removal: Removal) => void,
): Column<Plan> {
  return {
    name: "",
    cell: (plan) => (
      <div class="actions">
        <Button label={`Edit plan ${plan.id}`} onClick={() => onEdit(plan)}>
          Edit
        </Button>
        <Button
          kind="danger"
          label={`Remove plan ${plan.id}`}
          onClick={() =>
            onRemove({
              path: `/v1/plans/${plan.id}`,
              revision: plan.revision,
              title: `Remove plan ${plan.id}`,
              verb: "Remove",
              children: "A plan that tenants are on can't be removed.",
              doneText: `Plan ${plan.id} was removed.`,
            })
          }
        >
          Remove
        </Button>
      </div>
    ),
  };
}

interface PlanDialogProps {
  readonly plan: Plan | undefined;
  onClose(): void;
  onDone(): Promise<void>;
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
