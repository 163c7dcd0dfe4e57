// Tenants: the customers that API keys belong to.

import type { Removal } from "../../../ui/dialogs/remove-dialog.js";
import { Badge } from "../../../ui/page/page.js";
import type { Column } from "../../../ui/tables/table.js";
import { ListTab, type RowAct } from "../list-tab.js";
import { StatusDialog } from "./status-dialog.js";
import type { Tenant } from "./tenant.js";
import { TenantDialog } from "./tenant-dialog.js";

const FILTERS = [
  { name: "prefix", label: "Id begins with", placeholder: "acme" },
  { name: "plan", label: "Plan", placeholder: "pro" },
];

/** The tab. */
export function TenantsTab() {
  return (
    <ListTab
      title="Tenants"
      lead="Customers. Each has a plan, a calendar and API keys; a suspended tenant is refused."
      reply="tenants"
      path="/v1/tenants"
      filters={FILTERS}
      changedBy="admin"
      newName="New tenant"
      newDialog={(ends) => <TenantDialog tenant={undefined} {...ends} />}
      columns={COLUMNS}
      acts={actsOf}
      empty="There are no such tenants. A tenant is a customer with a plan, a calendar and API keys."
    />
  );
}

const COLUMNS: readonly Column<Tenant>[] = [
  {
    name: "Tenant",
    cell: ({ id, name }) => (
      <span>
        <a href={`/dashboard/key?tenant=${encodeURIComponent(id)}`}>{id}</a>
        {name !== undefined && <small> {name}</small>}
      </span>
    ),
  },
  { name: "Plan", cell: ({ plan }) => plan ?? "–" },
  { name: "Time zone", cell: ({ timeZone }) => timeZone },
  { name: "Months begin", cell: ({ billingAnchor }) => anchorText(billingAnchor) },
  {
    name: "Status",
    cell: ({ status }) => <Badge kind={status === "active" ? "good" : "bad"}>{status}</Badge>,
  },
  {
    name: "See",
    cell: ({ id }) => (
      <span class="actions">
        <a href={`/dashboard/access/keys?tenant=${encodeURIComponent(id)}`}>Keys</a>
        <a href={`/dashboard/quotas/${encodeURIComponent(id)}`}>Quotas</a>
      </span>
    ),
  },
];

function anchorText(anchor: number | string): string {
  return typeof anchor === "number" ? `on day ${anchor}` : `as on ${anchor}`;
}

function actsOf(tenant: Tenant): readonly RowAct[] {
  return [
    {
      verb: "Edit",
      label: `Edit tenant ${tenant.id}`,
      open: (ends) => <TenantDialog tenant={tenant} {...ends} />,
    },
    {
      verb: statusVerb(tenant),
      label: `${statusVerb(tenant)} tenant ${tenant.id}`,
      open: (ends) => <StatusDialog tenant={tenant} {...ends} />,
    },
    { verb: "Remove", label: `Remove tenant ${tenant.id}`, open: toRemoval(tenant) },
  ];
}

function statusVerb({ status }: Tenant): string {
  return status === "active" ? "Suspend" : "Resume";
}

function toRemoval({ id, revision }: Tenant): Removal {
  return {
    path: `/v1/tenants/${id}`,
    revision,
    title: `Remove tenant ${id}`,
    verb: "Remove",
    children: "A tenant with API keys can't be removed: revoke them first, or suspend the tenant.",
    doneText: `Tenant ${id} was removed.`,
  };
}
