// Access tokens: who may use this API and this dashboard, and in which role.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/button.js";
import { Field, Select } from "../../ui/field.js";
import { Badge } from "../../ui/page.js";
import { type Column, Table } from "../../ui/table.js";
import { Time } from "../../ui/time.js";
import { EditDialog } from "./edit-dialog.js";
import { Expiry, ExpirySelect, toExpiry } from "./expiry.js";
import { type Removal, RemoveDialog } from "./remove-dialog.js";
import { SecretDialog } from "./secret-dialog.js";
import { ListCard, useList } from "./tab.js";

type Token = ReplyOf<"accessToken">;

const ROLES = [
  { value: "viewer", name: "viewer: reads" },
  { value: "operator", name: "operator: acts on keys, and writes drafts" },
  { value: "admin", name: "admin: changes everything" },
  { value: "node", name: "node: a Sluice that follows this one" },
];

/** The tab. */
export function TokensTab() {
  const isAdmin = useMay("admin");
  const answer = useList("accessTokens", "/v1/access-tokens");
  const [isMaking, setIsMaking] = useState(false);
  const [removal, setRemoval] = useState<Removal>();
  const [secret, setSecret] = useState<string>();
  return (
    <ListCard
      title="Access tokens"
      lead="A token logs in here, and authorises programs and following nodes. Its role says what it may do."
      actions={isAdmin && <Button onClick={() => setIsMaking(true)}>New access token</Button>}
      answer={answer}
    >
      {({ items }) => (
        <>
          <Table
            label="Access tokens"
            columns={isAdmin ? [...COLUMNS, revokeColumn(setRemoval)] : COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            empty="There are no access tokens, so programs on this machine have the role admin. Once there is a token, they need one too."
          />
          {isMaking && (
            <TokenDialog
              onMade={setSecret}
              onClose={() => setIsMaking(false)}
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
          {secret !== undefined && !isMaking && (
            <SecretDialog
              title="The new access token"
              secret={secret}
              hint="Log in with it here, or send it as Authorization: Bearer."
              onClose={() => setSecret(undefined)}
            />
          )}
        </>
      )}
    </ListCard>
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

function revokeColumn(onRemove: (removal: Removal) => void): Column<Token> {
  return {
    name: "",
    cell: ({ id, name }) => (
      <Button
        kind="danger"
        label={`Revoke token ${name}`}
        onClick={() =>
          onRemove({
            path: `/v1/access-tokens/${id}`,
            title: `Revoke the token ${name}`,
            verb: "Revoke",
            children: "Its sessions end too. The last admin token can't be revoked.",
            doneText: `The token ${name} was revoked.`,
          })
        }
      >
        Revoke
      </Button>
    ),
  };
}

interface TokenDialogProps {
  onMade(secret: string): void;
  onClose(): void;
  onDone(): Promise<void>;
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
