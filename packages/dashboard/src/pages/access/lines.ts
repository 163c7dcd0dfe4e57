// Tables of names and values in a field of several lines: `search: 100/minute`. A value that is not a string is JSON.

/** A table as lines. */
export function toLines(table: Readonly<Record<string, unknown>>): string {
  return Object.entries(table)
    .map(([name, value]) => `${name}: ${toLimitText(value)}`)
    .join("\n");
}

/** The table that lines say. @throws Error that names the line that can't be read. */
export function fromLines(text: string, toValue: (written: string) => unknown = toLimit) {
  const table: Record<string, unknown> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const [, name, written] = /^\s*([^:\s]+)\s*:\s*(.+?)\s*$/.exec(line) ?? [];
    if (name === undefined || written === undefined)
      throw new Error(`Each line is a name, a colon and a value; this one is not: ${line}`);
    table[name] = toValue(written);
  }
  return table;
}

/** A limit as it is written in a field: as it is, or as JSON. */
export function toLimitText(limit: unknown): string {
  return typeof limit === "string" ? limit : JSON.stringify(limit);
}

/** The limit that was written. @throws Error if it looks like JSON and is not. */
export function toLimit(written: string): unknown {
  if (!/^[[{]/.test(written)) return written;
  try {
    return JSON.parse(written);
  } catch {
    throw new Error(`This limit is not valid JSON: ${written}`);
  }
}

/** A number where it is one. */
export function toAttribute(written: string): string | number {
  return /^-?\d+(\.\d+)?$/.test(written) ? Number(written) : written;
}
