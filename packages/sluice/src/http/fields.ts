// Fields of a response, as they are written once and put on the responses of every framework.

/** Names and values in turn. */
export type Fields = readonly string[];

/** Those that are about the body, in lower case: whoever sends another one writes others. */
export const BODY_FIELDS: ReadonlySet<string> = new Set(["content-type", "content-length"]);

/** Calls `set` with each field. */
export function eachField(fields: Fields, set: (name: string, value: string) => void): void {
  for (let i = 0; i < fields.length; i += 2) set(fields[i], fields[i + 1]);
}

/** The fields whose names, in lower case, are not among the hidden ones. */
export function withoutFields(fields: Fields, hidden: ReadonlySet<string>): Fields {
  if (hidden.size === 0) return fields;
  const shown: string[] = [];
  eachField(fields, (name, value) => {
    if (!hidden.has(name.toLowerCase())) shown.push(name, value);
  });
  return shown;
}
