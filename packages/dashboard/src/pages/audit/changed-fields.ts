// Which fields differ between two bodies.

/** A field that differs. */
export interface FieldChange {
  /** `limits.search`. */
  readonly field: string;
  /** Undefined: it was not there. */
  readonly before: string | undefined;
  /** Undefined: it is gone. */
  readonly after: string | undefined;
}

type Body = Readonly<Record<string, unknown>>;

/** The fields that differ, in the order in which they come. */
export function fieldChanges(before: Body, after: Body): FieldChange[] {
  const [old, now] = [flatten(before), flatten(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
    .filter((change) => change.before !== change.after);
}

function flatten(body: Body): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(body)) {
    if (isTable(value)) {
      for (const [inner, text] of flatten(value)) fields.set(`${name}.${inner}`, text);
    } else if (value !== undefined && value !== null) {
      fields.set(name, toText(name, value));
    }
  }
  return fields;
}

function toText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  const isTime = typeof value === "number" && name.endsWith("AtMs");
  return isTime ? new Date(value).toISOString() : JSON.stringify(value);
}

function isTable(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
