// API keys of tenants: made, rotated and revoked. A secret is shown once, when it is made.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Badge } from "../../ui/page.js";
import { type Column, Table } from "../../ui/table.js";
import { Time } from "../../ui/time.js";
import { Expiry } from "./expiry.js";
import { Filter } from "./filter.js";
import { NewKeyDialog, RotateDialog } from "./key-dialogs.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { SecretDialog } from "./secret-dialog.js";
import { ListCard, useList } from "./tab.js";

/** An API key, without its secret. */
export type ApiKey = ReplyOf<"apiKey">;

type Open =
  | { readonly kind: "new" }
  | { readonly kind: "rotate"; readonly apiKey: ApiKey }
  | { readonly kind: "remove"; readonly removal: Removal };

/** The tab. */
export function ApiKeysTab() {
  const isAdmin = useMay("admin");
  const answer = useList("apiKeys", "/v1/api-keys", ["tenant"]);
  const [open, setOpen] = useState<Open>();
  const [secret, setSecret] = useState<string>();
  const ends = { onClose: () => setOpen(undefined), onDone: answer.reload };
  return (
    <ListCard
      title="API keys"
      lead="A key stands for its tenant. Only a hash of it is kept, so it is shown once, when it is made."
      actions={isAdmin && <Button onClick={() => setOpen({ kind: "new" })}>New API key</Button>}
      filters={<Filter name="tenant" label="Filter by tenant" placeholder="acme" />}
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="API keys"
            columns={isAdmin ? [...COLUMNS, actsColumn(setOpen)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="There are no such keys. Make one for a tenant; gateways accept it within two seconds."
          />
          {open?.kind === "new" && <NewKeyDialog onMade={setSecret} {...ends} />}
          {open?.kind === "rotate" && (
            <RotateDialog apiKey={open.apiKey} onMade={setSecret} {...ends} />
          )}
          {open?.kind === "remove" && <RemoveDialog removal={open.removal} {...ends} />}
          {secret !== undefined && open === undefined && (
            <SecretDialog
              title="The new API key"
              secret={secret}
              hint="Clients send it in the header X-API-Key, or as a bearer token."
              onClose={() => setSecret(undefined)}
            />
          )}
        </>
      )}
    </ListCard>
  );
}

const COLUMNS: readonly Column<ApiKey>[] = [
  {
    name: "Key",
    cell: ({ id, name }) => (
      <span>
        {name}{" "}
        <a href={`/dashboard/key?apiKey=${id}`}>
          <code>{id}</code>
        </a>
      </span>
    ),
  },
  {
    name: "Tenant",
    cell: ({ tenant }) => (
      <a href={`/dashboard/key?tenant=${encodeURIComponent(tenant)}`}>{tenant}</a>
    ),
  },
  { name: "Scopes", cell: ({ scopes }) => (scopes.length === 0 ? "–" : scopes.join(", ")) },
  {
    name: "Last used",
    cell: ({ lastUsedAtMs }) => (lastUsedAtMs === null ? "not yet" : <Time atMs={lastUsedAtMs} />),
  },
  {
    name: "Expires",
    cell: ({ expiresAtMs, replacedBy }) => (
      <span>
        <Expiry atMs={expiresAtMs} /> {replacedBy !== undefined && <Badge>rotated</Badge>}
      </span>
    ),
  },
];

function actsColumn(setOpen: (open: Open) => void): Column<ApiKey> {
  return {
    name: "",
    cell: (apiKey) => (
      <div class="actions">
        {apiKey.replacedBy === undefined && (
          <Button
            label={`Rotate key ${apiKey.name} ${apiKey.id}`}
            onClick={() => setOpen({ kind: "rotate", apiKey })}
          >
            Rotate
          </Button>
        )}
        <Button
          kind="danger"
          label={`Revoke key ${apiKey.name} ${apiKey.id}`}
          onClick={() => setOpen({ kind: "remove", removal: toRemoval(apiKey) })}
        >
          Revoke
        </Button>
      </div>
    ),
  };
}

function toRemoval({ id, name, tenant }: ApiKey): Removal {
  return {
    path: `/v1/api-keys/${id}`,
    title: `Revoke the key ${name} of ${tenant}`,
    verb: "Revoke",
    children: "Every node refuses it within two seconds. This can't be undone.",
    doneText: `The key ${name} was revoked.`,
  };
}
