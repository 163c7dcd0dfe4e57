// The filters of a list. Submitting them puts their values into the URL.

import { useState } from "preact/hooks";
import { Button } from "../../ui/forms/button.js";
import { Field } from "../../ui/forms/field.js";
import { useUrlQuery } from "../../ui/url-query.js";

/** What a list can be narrowed by. */
export interface Filter {
  /** The parameter of the URL, and of the question. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
}

/** A form with a field for each filter. */
export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const [query, setQuery] = useUrlQuery();
  const [values, setValues] = useState(query);
  const submit = (event: Event) => {
    event.preventDefault();
    const given = filters.map(({ name }) => [name, values[name]?.trim()]);
    setQuery({ ...Object.fromEntries(given), after: undefined });
  };
  return (
    <form class="filters access-filters" onSubmit={submit}>
      {filters.map(({ name, label, placeholder = "" }) => (
        <Field
          key={name}
          label={label}
          value={values[name] ?? ""}
          placeholder={placeholder}
          onInput={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
      <Button type="submit">Show</Button>
    </form>
  );
}
