// The form that asks whom to look up, and which request is explained.

import { useState } from "preact/hooks";
import { ask } from "../../api/client.js";
import { Button } from "../../ui/forms/button.js";
import { Field, Select } from "../../ui/forms/field.js";
import { type UrlQuery, useUrlQuery } from "../../ui/url-query.js";
import { CALLER_KINDS, type CallerKind, idOfSecret, type Lookup } from "./lookup.js";

const KIND_OPTIONS = [
  { value: "ip", name: "Address" },
  { value: "user", name: "User" },
  { value: "apiKey", name: "API key" },
  { value: "tenant", name: "Tenant" },
];
const PLACEHOLDERS: Readonly<Record<CallerKind, string>> = {
  ip: "203.0.113.7",
  user: "42",
  apiKey: "its id, its hash, or the key itself",
  tenant: "acme",
};
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"].map((name) => ({ value: name, name }));

/** The form of the page. What it asks for is in the URL; an API key itself never is. */
export function LookupForm({ lookup }: { readonly lookup: Lookup | undefined }) {
  const [query, setQuery] = useUrlQuery();
  const [kind, setKind] = useState<CallerKind>(lookup?.by === "caller" ? lookup.kind : "ip");
  const [value, setValue] = useState(lookup?.by === "caller" ? lookup.value : "");
  const [method, setMethod] = useState(query.method ?? "GET");
  const [path, setPath] = useState(query.path ?? "");
  const [problem, setProblem] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(undefined);
    try {
      const found = kind === "apiKey" ? await toApiKey(value.trim()) : value.trim();
      const request = { method: method === "GET" ? undefined : method, path };
      setQuery({ ...NOTHING, ...request, [kind]: found });
      if (kind === "apiKey") setValue(found);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form class="card key-form" onSubmit={submit} aria-label="Look up a caller">
      <Select
        label="Look up"
        value={kind}
        options={KIND_OPTIONS}
        onInput={(next) => setKind(next as CallerKind)}
      />
      <Field
        label={KIND_OPTIONS.find((one) => one.value === kind)?.name ?? ""}
        value={value}
        placeholder={PLACEHOLDERS[kind]}
        onInput={setValue}
        problem={problem}
        autofocus={lookup === undefined}
      />
      <Select label="Method" value={method} options={METHODS} onInput={setMethod} />
      <Field label="Path" value={path} placeholder="/" onInput={setPath} />
      <Button type="submit" kind="primary" isDisabled={value.trim() === ""}>
        Look up
      </Button>
    </form>
  );
}

const NOTHING: UrlQuery = {
  ...Object.fromEntries(CALLER_KINDS.map((kind) => [kind, undefined])),
  rule: undefined,
  key: undefined,
};

const IS_ID_OR_HASH = /^([0-9A-Za-z]{12}|[\w-]{22})$/;

/** What the key is counted by: the service is asked for the hash of a key, and the key is not kept. */
async function toApiKey(text: string): Promise<string> {
  const id = idOfSecret(text);
  if (id !== undefined) return id;
  if (IS_ID_OR_HASH.test(text)) return text;
  const body = { facts: { apiKey: text }, counters: true };
  const { rules } = await ask("explain", "/v1/explain", { method: "POST", body });
  const hash = rules.flatMap(({ key }) => /apiKeyHash:([\w-]+)/.exec(key ?? "")?.[1] ?? []).at(0);
  if (hash !== undefined) return hash;
  throw new Error("No rule counts by API key alone, so there is nothing to look up.");
}
