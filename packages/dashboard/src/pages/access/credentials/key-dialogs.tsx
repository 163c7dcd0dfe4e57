// Makes an API key, or one in place of another.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../../api/client.js";
import { Field, Select } from "../../../ui/forms/field.js";
import { useUrlQuery } from "../../../ui/url-query.js";
import { EditDialog } from "../edit-dialog.js";
import { ExpirySelect, toExpiry } from "../expiry.js";

/** An API key, without its secret. */
export type ApiKey = ReplyOf<"apiKey">;

interface MakingProps {
  /** Called with the secret. */
  onMade(secret: string): void;
  onClose(): void;
  onDone(): Promise<void>;
}

/** Makes a key. */
export function NewKeyDialog({ onMade, onClose, onDone }: MakingProps) {
  const [query] = useUrlQuery();
  const [tenant, setTenant] = useState(query.tenant ?? "");
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState("");
  const [expiry, setExpiry] = useState("");
  const save = async (reason: string) => {
    const body = {
      tenant: tenant.trim(),
      name: name.trim(),
      scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ""),
      ...toExpiry(expiry),
      ...(reason !== "" && { reason }),
    };
    const { secret } = await ask("newApiKey", "/v1/api-keys", { method: "POST", body });
    onMade(secret);
  };
  return (
    <EditDialog
      title="New API key"
      verb="Create key"
      doneText={`A key for ${tenant.trim()} was made.`}
      isComplete={tenant.trim() !== "" && name.trim() !== ""}
      save={save}
      onClose={onClose}
      onDone={onDone}
    >
      <Field label="Tenant" value={tenant} onInput={setTenant} placeholder="acme" />
      <Field label="Name" value={name} onInput={setName} hint="For people: what it is used for." />
      <Field
        label="Scopes"
        value={scopes}
        onInput={setScopes}
        hint="Separate them with commas. Sluice passes them on to the upstream."
      />
      <ExpirySelect value={expiry} onInput={setExpiry} />
    </EditDialog>
  );
}

const OVERLAPS = [
  { value: "0", name: "Ends now" },
  { value: "3600000", name: "Works for 1 hour more" },
  { value: "86400000", name: "Works for 1 day more" },
  { value: "604800000", name: "Works for 7 days more" },
];

/** Makes a key in place of another. */
export function RotateDialog({ apiKey, onMade, ...ends }: MakingProps & { apiKey: ApiKey }) {
  const [overlap, setOverlap] = useState("86400000");
  const save = async (reason: string) => {
    const body = { overlapMs: Number(overlap), ...(reason !== "" && { reason }) };
    const path = `/v1/api-keys/${apiKey.id}/rotate`;
    const { secret } = await ask("newApiKey", path, { method: "POST", body });
    onMade(secret);
  };
  return (
    <EditDialog
      title={`Rotate the key ${apiKey.name}`}
      verb="Rotate"
      doneText={`The key ${apiKey.name} was rotated.`}
      isComplete
      save={save}
      {...ends}
    >
      <p>A new key takes its place, and goes on with the same counters.</p>
      <Select label="The old key" value={overlap} options={OVERLAPS} onInput={setOverlap} />
    </EditDialog>
  );
}
