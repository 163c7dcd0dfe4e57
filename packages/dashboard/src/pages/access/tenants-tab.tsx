// Tenants: the customers that API keys belong to.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Badge } from "../../ui/page.js";
import { type Column, Table } from "../../ui/table.js";
import { Filter } from "./filter.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { StatusDialog } from "./status-dialog.js";
import { ListCard, useList } from "./tab.js";
import { TenantDialog } from "./tenant-dialog.js";

/** A tenant. */
export type Tenant = ReplyOf<"tenant">;

type Open =
  | { readonly kind: "edit"; readonly tenant: Tenant | undefined }
  | { readonly kind: "status"; readonly tenant: Tenant }
  | { readonly kind: "remove"; readonly removal: Removal };

/** The tab. */
export function TenantsTab() {
  const isAdmin = useMay("admin");
  const answer = useList("tenants", "/v1/tenants", ["prefix", "plan"]);
  const [open, setOpen] = useState<Open>();
  const ends = { onClose: () => setOpen(undefined), onDone: answer.reload };
  return (
    <ListCard
      title="Tenants"
      lead="Customers. Each has a plan, a calendar and API keys; a suspended tenant is refused."
      actions={
        isAdmin && (
          <Button onClick={() => setOpen({ kind: "edit", tenant: undefined })}>New tenant</Button>
        )
      }
      filters={
        <div class="access-filters">
          <Filter name="prefix" label="Find by id" placeholder="acme" />
          <Filter name="plan" label="Filter by plan" />
        </div>
      }
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="Tenants"
            columns={isAdmin ? [...COLUMNS, actsColumn(setOpen)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="There are no such tenants. A tenant is a customer with a plan, a calendar and API keys."
          />
          {open?.kind === "edit" && <TenantDialog tenant={open.tenant} {...ends} />}
          {open?.kind === "status" && <StatusDialog tenant={open.tenant} {...ends} />}
          {open?.kind === "remove" && <RemoveDialog removal={open.removal} {...ends} />}
        </>
      )}
    </ListCard>
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

function actsColumn(setOpen: (open: Open) => void): Column<Tenant> {
  return {
    name: "",
    cell: (tenant) => (
      <div class="actions">
        <Button
          label={`Edit tenant ${tenant.id}`}
          onClick={() => setOpen({ kind: "edit", tenant })}
        >
          Edit
        </Button>
        <Button
          label={`${statusVerb(tenant)} tenant ${tenant.id}`}
          onClick={() => setOpen({ kind: "status", tenant })}
        >
          {statusVerb(tenant)}
        </Button>
        <Button
          kind="danger"
          label={`Remove tenant ${tenant.id}`}
          onClick={() => setOpen({ kind: "remove", removal: toRemoval(tenant) })}
        >
          Remove
        </Button>
      </div>
    ),
  };
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

/** Sends a tenant as it shall be from now on. */
export function saveTenant(
  tenant: Omit<Tenant, "revision">,
  revision: number | undefined,
  reason: string,
): Promise<Tenant> {
  const { id, ...body } = tenant;
  return ask("tenant", `/v1/tenants/${encodeURIComponent(id)}`, {
    method: "PUT",
    ...(revision === undefined ? {} : { ifMatch: revision }),
    body: { ...body, ...(reason !== "" && { reason }) },
  });
}
