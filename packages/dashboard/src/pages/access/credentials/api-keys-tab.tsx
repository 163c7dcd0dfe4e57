// API keys of tenants: made, rotated and revoked. A secret is shown once, when it is made.

import { useState } from "preact/hooks";
import type { Removal } from "../../../ui/dialogs/remove-dialog.js";
import { Badge } from "../../../ui/page/page.js";
import type { Column } from "../../../ui/tables/table.js";
import { Expiry } from "../expiry.js";
import { LastUsed } from "../last-used.js";
import { ListTab, type RowAct } from "../list-tab.js";
import { type ApiKey, NewKeyDialog, RotateDialog } from "./key-dialogs.js";
import { SecretDialog } from "./secret-dialog.js";

const FILTERS = [{ name: "tenant", label: "Filter by tenant", placeholder: "acme" }];

/** The tab. */
export function ApiKeysTab() {
  const [secret, setSecret] = useState<string>();
  return (
    <ListTab
      title="API keys"
      lead="A key stands for its tenant. Only a hash of it is kept, so it is shown once, when it is made."
      reply="apiKeys"
      path="/v1/api-keys"
      filters={FILTERS}
      changedBy="admin"
      newName="New API key"
      newDialog={(ends) => <NewKeyDialog onMade={setSecret} {...ends} />}
      columns={COLUMNS}
      acts={(apiKey) => actsOf(apiKey, setSecret)}
      empty="There are no such keys. Make one for a tenant; gateways accept it within two seconds."
    >
      {secret !== undefined && (
        <SecretDialog
          title="The new API key"
          secret={secret}
          hint="Clients send it in the header X-API-Key, or as a bearer token."
          onClose={() => setSecret(undefined)}
        />
      )}
    </ListTab>
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
    cell: ({ lastUsedAtMs }) => <LastUsed hourMs={lastUsedAtMs} />,
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

function actsOf(apiKey: ApiKey, onMade: (secret: string) => void): readonly RowAct[] {
  const { id, name, replacedBy } = apiKey;
  const revoke: RowAct = {
    verb: "Revoke",
    label: `Revoke key ${name} ${id}`,
    open: toRemoval(apiKey),
  };
  if (replacedBy !== undefined) return [revoke];
  const rotate: RowAct = {
    verb: "Rotate",
    label: `Rotate key ${name} ${id}`,
    open: (ends) => <RotateDialog apiKey={apiKey} onMade={onMade} {...ends} />,
  };
  return [rotate, revoke];
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
