// The version of a set of rules: a hash of what they mean. Comments, the order of fields and defaults
// that are written out make no difference; the order of rules does.

import { createHash } from "node:crypto";
import type { RuleSet } from "../rule.js";

const VERSION_LENGTH = 12;

/** The first 12 hexadecimal digits of a SHA-256. */
export function toVersion(rules: Omit<RuleSet, "version">): string {
  return createHash("sha256").update(toMeaning(rules)).digest("hex").slice(0, VERSION_LENGTH);
}

/** What a value means, as text: the same for the same meaning, and for no other. */
export function toMeaning(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toMeaning).join()}]`;
  // Marked, so that no map or set means the same as a list.
  if (value instanceof Map) return `map[${[...value].map(toEntry).sort().join()}]`;
  if (value instanceof Set) return `set[${[...value].map(toMeaning).sort().join()}]`;
  const fields = Object.entries(value).filter(([name]) => !MEANINGLESS.includes(name));
  return `{${fields.map(toEntry).sort().join()}}`;
}

/** Fields that say where something was written, or are made of others. */
const MEANINGLESS: readonly string[] = ["place", "ips"];

function toEntry([name, value]: readonly [string, unknown]): string {
  return `${JSON.stringify(name)}:${toMeaning(value)}`;
}
