// Makes or changes a tenant.

import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/use-answer.js";
import { Field, Select, TextArea } from "../../../ui/forms/field.js";
import { EditDialog } from "../edit-dialog.js";
import { fromLines, toAttribute, toLines } from "../lines.js";
import { saveTenant, type Tenant } from "./tenant.js";

interface TenantDialogProps {
  readonly tenant: Tenant | undefined;
  onClose(): void;
  onDone(): Promise<void>;
}

const PLANS_MAX = 1_000;
const NEW = { id: "", name: "", plan: "", timeZone: "UTC", billingAnchor: "1", attributes: "" };

/** The fields of a tenant. */
export function TenantDialog({ tenant, onClose, onDone }: TenantDialogProps) {
  const plans = useAnswer("plans", "/v1/plans", { query: { limit: PLANS_MAX } });
  const [fields, setFields] = useState(tenant === undefined ? NEW : toFields(tenant));
  const [seen, setSeen] = useState(tenant);
  const field = (name: keyof typeof NEW) => ({
    value: fields[name],
    onInput: (value: string) => setFields({ ...fields, [name]: value }),
  });
  const names = [...new Set([...(plans.data?.items ?? []).map(({ id }) => id), fields.plan])];
  const save = (reason: string) =>
    saveTenant(fromFields(fields, seen?.status ?? "active"), seen?.revision, reason);
  const showCurrent = (current: Tenant) => {
    setSeen(current);
    setFields(toFields(current));
  };
  return (
    <EditDialog<Tenant>
      title={tenant === undefined ? "New tenant" : `Edit tenant ${tenant.id}`}
      verb="Save"
      doneText={`Tenant ${fields.id.trim()} was saved.`}
      isComplete={fields.id.trim() !== ""}
      save={save}
      onConflict={showCurrent}
      onClose={onClose}
      onDone={onDone}
    >
      {tenant === undefined && <Field label="Id" placeholder="acme" {...field("id")} />}
      <Field label="Name" hint="For people." {...field("name")} />
      <Select
        label="Plan"
        options={[
          { value: "", name: "None: the limits of the rules" },
          ...names.filter((name) => name !== "").map((name) => ({ value: name, name })),
        ]}
        {...field("plan")}
      />
      <Field
        label="Time zone"
        placeholder="Europe/Paris"
        hint="Where its days and months begin."
        {...field("timeZone")}
      />
      <Field
        label="Billing anchor"
        hint="When its months begin: a day from 1 to 31, or a date such as 2024-01-31."
        {...field("billingAnchor")}
      />
      <TextArea
        label="Attributes"
        placeholder="region: eu"
        hint="One on each line; its requests have them, for rules."
        {...field("attributes")}
      />
    </EditDialog>
  );
}

function toFields(tenant: Tenant): typeof NEW {
  return {
    id: tenant.id,
    name: tenant.name ?? "",
    plan: tenant.plan ?? "",
    timeZone: tenant.timeZone,
    billingAnchor: String(tenant.billingAnchor),
    attributes: toLines(tenant.attributes),
  };
}

function fromFields(fields: typeof NEW, status: Tenant["status"]): Omit<Tenant, "revision"> {
  const { name, plan, timeZone, billingAnchor } = fields;
  return {
    id: fields.id.trim(),
    ...(name.trim() !== "" && { name: name.trim() }),
    ...(plan !== "" && { plan }),
    timeZone: timeZone.trim(),
    billingAnchor: toAttribute(billingAnchor.trim()),
    attributes: fromLines(fields.attributes, toAttribute) as Record<string, string | number>,
    status,
  } as Omit<Tenant, "revision">;
}
