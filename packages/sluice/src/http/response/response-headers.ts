// Headers of a response, as they are written once and put on the responses of every framework.

/** Names and values in turn. */
export type HeaderFields = readonly string[];

/** Headers about the body, in lower case: another body needs others. */
export const BODY_FIELDS: ReadonlySet<string> = new Set(["content-type", "content-length"]);

/** Calls `set` with each header. */
export function eachField(fields: HeaderFields, set: (name: string, value: string) => void): void {
  for (let i = 0; i < fields.length; i += 2) set(fields[i], fields[i + 1]);
}

/** The headers of a string with one line for each, ending in CRLF. */
export function toFields(lines: string): HeaderFields {
  const fields: string[] = [];
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields.push(line.slice(0, colon), line.slice(colon + 2));
  }
  return fields;
}

/** The lines of headers, each with its end. */
export function toLines(fields: HeaderFields): string {
  let lines = "";
  eachField(fields, (name, value) => {
    lines += `${name}: ${value}\r\n`;
  });
  return lines;
}

/** Lines of two limiters: named limits of both in one list, of all other headers the later one. */
export function joinLines(earlier: string, later: string): string {
  const joined = new Map<string, string>();
  eachField(toFields(earlier), (name, value) => joined.set(name, value));
  eachField(toFields(later), (name, value) => {
    const before = joined.get(name);
    const isList = before?.startsWith('"') && value.startsWith('"');
    joined.set(name, isList ? `${before}, ${value}` : value);
  });
  return toLines([...joined].flat());
}

/** The headers whose names, in lower case, are not among the hidden ones. */
export function withoutFields(fields: HeaderFields, hidden: ReadonlySet<string>): HeaderFields {
  if (hidden.size === 0) return fields;
  const shown: string[] = [];
  eachField(fields, (name, value) => {
    if (!hidden.has(name.toLowerCase())) shown.push(name, value);
  });
  return shown;
}
