// Which fields differ between two bodies, and which lines between two texts.

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

/** A line of a text, and whether it was removed, added or stayed. */
export interface LineChange {
  readonly mark: "-" | "+" | " ";
  readonly line: string;
}

const CONTEXT = 3;

/** What stands between the first and the last line that differ, with a few lines around. */
export function lineChanges(before: string, after: string): LineChange[] {
  const [old, now] = [toLines(before), toLines(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end++;
  const marked = (mark: LineChange["mark"], lines: readonly string[]) =>
    lines.map((line) => ({ mark, line }));
  return [
    ...marked(" ", now.slice(Math.max(0, start - CONTEXT), start)),
    ...marked("-", old.slice(start, old.length - end)),
    ...marked("+", now.slice(start, now.length - end)),
    ...marked(" ", now.slice(now.length - end, Math.min(now.length, now.length - end + CONTEXT))),
  ];
}

function toLines(text: string): readonly string[] {
  return text === "" ? [] : text.split("\n");
}
