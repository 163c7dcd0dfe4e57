// A filter of a list. Submitting it puts the value into the URL.

import { useState } from "preact/hooks";
import { Button } from "../../ui/button.js";
import { Field } from "../../ui/field.js";
import { useUrlQuery } from "../../ui/url-query.js";

interface FilterProps {
  /** The parameter of the URL. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
}

/** A field that narrows a list. */
export function Filter({ name, label, placeholder = "" }: FilterProps) {
  const [query, setQuery] = useUrlQuery();
  const [value, setValue] = useState(query[name] ?? "");
  const submit = (event: Event) => {
    event.preventDefault();
    setQuery({ [name]: value.trim(), after: undefined });
  };
  return (
    <form class="filters access-filter" onSubmit={submit}>
      <Field label={label} value={value} placeholder={placeholder} onInput={setValue} />
      <Button type="submit">Show</Button>
    </form>
  );
}
