// Fields of forms: a label, an input, and what is wrong with it or what it is for.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface LabelledProps {
  readonly label: string;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
  /** What it is for. */
  readonly hint?: string | undefined;
}

interface FieldProps extends LabelledProps {
  readonly value: string;
  readonly name?: string;
  readonly type?: "text" | "password" | "search" | "number" | "date" | "datetime-local";
  readonly placeholder?: string;
  readonly autocomplete?: "off" | "on";
  readonly autofocus?: boolean;
  readonly isRequired?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | "any";
  onInput(value: string): void;
}

/** A field of one line. */
export function Field(props: FieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  // The browser itself looks at `autofocus` only when it loads the page, and when a dialog opens.
  useEffect(() => {
    if (props.autofocus === true) input.current?.focus({ preventScroll: true });
  }, []);
  return (
    <Labelled {...props} id={id}>
      <input
        id={id}
        ref={input}
        name={props.name}
        // The types want one kind of input at a time; this one is any of them.
        type={(props.type ?? "text") as "text"}
        value={props.value}
        placeholder={props.placeholder}
        autocomplete={props.autocomplete ?? "off"}
        autofocus={props.autofocus}
        required={props.isRequired}
        min={props.min}
        max={props.max}
        step={props.step}
        spellcheck={false}
        aria-invalid={props.problem !== undefined}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
      />
    </Labelled>
  );
}

interface TextAreaProps extends LabelledProps {
  readonly value: string;
  readonly placeholder?: string;
  readonly rows?: number;
  onInput(value: string): void;
}

/** A field of several lines. */
export function TextArea(props: TextAreaProps) {
  const id = useId();
  return (
    <Labelled {...props} id={id}>
      <textarea
        id={id}
        value={props.value}
        placeholder={props.placeholder}
        rows={props.rows ?? 4}
        spellcheck={false}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
      />
    </Labelled>
  );
}

interface SelectProps extends LabelledProps {
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
  onInput(value: string): void;
}

/** A choice out of a few. */
export function Select(props: SelectProps) {
  const id = useId();
  return (
    <Labelled {...props} id={id}>
      <select
        id={id}
        value={props.value}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
      >
        {props.options.map(({ value, name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

function Labelled({
  id,
  label,
  problem,
  hint,
  children,
}: LabelledProps & { readonly id: string; readonly children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <p
        id={`${id}-note`}
        class={problem === undefined ? "hint" : "problem"}
        role={problem === undefined ? undefined : "alert"}
      >
        {problem ?? hint}
      </p>
    </div>
  );
}
