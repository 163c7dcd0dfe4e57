// The version of a set of rules: a hash of what they mean. Comments, the order of fields and defaults
// that are written out make no difference; the order of rules does.

import { createHash } from "node:crypto";
import type { RuleSet } from "../rule.js";

const VERSION_LENGTH = 12;

/** The first 12 hexadecimal digits of a SHA-256. */
export function toVersion(rules: Omit<RuleSet, "version">): string {
  return createHash("sha256").update(toMeaning(rules)).digest("hex").slice(0, VERSION_LENGTH);
}

/** What a value means, as a string: the same for the same meaning, and for no other. */
export function toMeaning(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toMeaning).join()}]`;
  // Marked, so that no map or set means the same as a list.
  if (value instanceof Map) return `map[${[...value].map(toEntry).sort().join()}]`;
  if (value instanceof Set) return `set[${[...value].map(toMeaning).sort().join()}]`;
  return toObjectMeaning(value as Readonly<Record<string, unknown>>);
}

/** Fields that say where something was written, or are made of others. */
const MEANINGLESS: readonly string[] = ["place", "ips"];

function toEntry([name, value]: readonly [string, unknown]): string {
  return `${JSON.stringify(name)}:${toMeaning(value)}`;
}

/** A field that means something, and how its entry begins. */
interface LabelledField {
  readonly name: string;
  readonly label: string;
}

/** The fields of objects in the order of their entries, by their names. Ten thousand rules have the same dozen forms. */
const orders = new Map<string, readonly LabelledField[]>();
const ORDERS_MAX = 1_000;

function toObjectMeaning(value: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const { name, label } of fieldsOf(Object.keys(value))) {
    text += `${text === "" ? "" : ","}${label}${toMeaning(value[name])}`;
  }
  return `{${text}}`;
}

function fieldsOf(names: readonly string[]): readonly LabelledField[] {
  const form = names.join("\n");
  const known = orders.get(form);
  if (known !== undefined) return known;
  const fields = toFields(names);
  // Names with a line break in them could be mistaken for two.
  const isClear = !names.some((name) => name.includes("\n"));
  if (isClear && orders.size < ORDERS_MAX) orders.set(form, fields);
  return fields;
}

/** Entries differ within their labels, so these are in the order of the entries. */
function toFields(names: readonly string[]): readonly LabelledField[] {
  return names
    .filter((name) => !MEANINGLESS.includes(name))
    .map((name) => ({ name, label: `${JSON.stringify(name)}:` }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
}
