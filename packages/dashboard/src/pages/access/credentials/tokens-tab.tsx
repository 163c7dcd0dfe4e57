// Access tokens: who may use this API and this dashboard, and in which role.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../../api/client.js";
import { Time } from "../../../ui/formats/time.js";
import { Field, Select } from "../../../ui/forms/field.js";
import { Badge } from "../../../ui/page/page.js";
import type { Column } from "../../../ui/tables/table.js";
import { EditDialog } from "../edit-dialog.js";
import { Expiry, ExpirySelect, toExpiry } from "../expiry.js";
import { type DialogEnds, ListTab, type RowAct } from "../list-tab.js";
import { SecretDialog } from "./secret-dialog.js";

type Token = ReplyOf<"accessToken">;

const ROLES = [
  { value: "viewer", name: "viewer: reads" },
  { value: "operator", name: "operator: acts on keys, and writes drafts" },
  { value: "admin", name: "admin: changes everything" },
  { value: "node", name: "node: a Sluice that follows this one" },
];

/** The tab. */
export function TokensTab() {
  const [secret, setSecret] = useState<string>();
  return (
    <ListTab
      title="Access tokens"
      lead="A token logs in here, and authorises programs and following nodes. Its role says what it may do."
      reply="accessTokens"
      path="/v1/access-tokens"
      changedBy="admin"
      newName="New access token"
      newDialog={(ends) => <TokenDialog onMade={setSecret} {...ends} />}
      columns={COLUMNS}
      acts={actsOf}
      empty="There are no access tokens, so programs on this machine have the role admin. Once there is a token, they need one too."
    >
      {secret !== undefined && (
        <SecretDialog
          title="The new access token"
          secret={secret}
          hint="Log in with it here, or send it as Authorization: Bearer."
          onClose={() => setSecret(undefined)}
        />
      )}
    </ListTab>
  );
}

const COLUMNS: readonly Column<Token>[] = [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <span>
        {name} <code>{id}</code>
      </span>
    ),
  },
  {
    name: "Role",
    cell: ({ role }) => <Badge kind={role === "admin" ? "info" : "plain"}>{role}</Badge>,
  },
  { name: "Made", cell: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
  { name: "Expires", cell: ({ expiresAtMs }) => <Expiry atMs={expiresAtMs} /> },
];

function actsOf({ id, name }: Token): readonly RowAct[] {
  return [
    {
      verb: "Revoke",
      label: `Revoke token ${name}`,
      open: {
        path: `/v1/access-tokens/${id}`,
        title: `Revoke the token ${name}`,
        verb: "Revoke",
        children: "Its sessions end too. The last admin token can't be revoked.",
        doneText: `The token ${name} was revoked.`,
      },
    },
  ];
}

interface TokenDialogProps extends DialogEnds {
  onMade(secret: string): void;
}

function TokenDialog({ onMade, ...ends }: TokenDialogProps) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("viewer");
  const [expiry, setExpiry] = useState("");
  const save = async (reason: string) => {
    const body = { name: name.trim(), role, ...toExpiry(expiry), ...(reason !== "" && { reason }) };
    const { secret } = await ask("newAccessToken", "/v1/access-tokens", { method: "POST", body });
    onMade(secret);
  };
  return (
    <EditDialog
      title="New access token"
      verb="Create token"
      doneText={`A token for ${name.trim()} was made.`}
      isComplete={name.trim() !== ""}
      save={save}
      {...ends}
    >
      <Field
        label="Name"
        value={name}
        onInput={setName}
        hint="Who holds it. The audit log names it."
      />
      <Select label="Role" value={role} options={ROLES} onInput={setRole} />
      <ExpirySelect value={expiry} onInput={setExpiry} />
    </EditDialog>
  );
}
