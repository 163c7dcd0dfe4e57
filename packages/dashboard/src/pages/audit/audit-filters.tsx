// What the log is narrowed to. All of it is in the URL.

import { useState } from "preact/hooks";
import { Button } from "../../ui/forms/button.js";
import { Field, Select } from "../../ui/forms/field.js";
import { useUrlQuery } from "../../ui/url-query.js";

const KINDS = [
  "rule-set",
  "plan",
  "tenant",
  "api-key",
  "access-token",
  "override",
  "block",
  "switch",
  "counter",
  "quota",
  "node-switch",
  "webhook-delivery",
  "region",
];
const NAMES = ["actor", "action", "kind", "id", "from", "to"] as const;
const NOTHING = { actor: "", action: "", kind: "", id: "", from: "", to: "" };

/** The filters. */
export function AuditFilters() {
  const [url, setUrl] = useUrlQuery();
  const [values, setValues] = useState(() => ({
    ...NOTHING,
    ...Object.fromEntries(NAMES.map((name) => [name, url[name] ?? ""])),
  }));
  const field = (name: (typeof NAMES)[number]) => ({
    value: values[name],
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setUrl({ ...values, after: undefined });
  };
  const hasAny = NAMES.some((name) => (url[name] ?? "") !== "");
  return (
    <form class="card filters audit-filters" aria-label="Filters" onSubmit={submit}>
      <Field label="Who" placeholder="ann" {...field("actor")} />
      <Field label="Did what" placeholder="publish" {...field("action")} />
      <Select
        label="To what"
        options={[
          { value: "", name: "Anything" },
          ...KINDS.map((value) => ({ value, name: value })),
        ]}
        {...field("kind")}
      />
      <Field label="Id" placeholder="acme" {...field("id")} />
      <Field label="From" type="date" {...field("from")} />
      <Field label="Before" type="date" {...field("to")} />
      <div class="actions">
        <Button type="submit" kind="primary">
          Show
        </Button>
        {hasAny && (
          <Button kind="quiet" onClick={() => setUrl({ ...NOTHING, after: undefined })}>
            Clear
          </Button>
        )}
      </div>
    </form>
  );
}
