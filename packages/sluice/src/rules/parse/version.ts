// The version of a set of rules: a hash of what they mean. Comments, the order of fields and defaults
// that are written out make no difference; the order of rules does.

import { createHash } from "node:crypto";
import type { RuleSet } from "../rule.js";

const VERSION_LENGTH = 12;

/** The first 12 hexadecimal digits of a SHA-256. */
export function toVersion(rules: Omit<RuleSet, "version">): string {
  return createHash("sha256").update(toMeaning(rules)).digest("hex").slice(0, VERSION_LENGTH);
}

/** What a value means, as text: the same for the same meaning. */
export function toMeaning(value: unknown): string {
  return JSON.stringify(value, toOrdered);
}

/** Fields that say where and how something was written, or are made of others. */
const MEANINGLESS: readonly string[] = ["place", "ips"];

function toOrdered(this: unknown, name: string, value: unknown): unknown {
  if (MEANINGLESS.includes(name)) return undefined;
  // Marked, so that no map means the same as a list of pairs.
  if (value instanceof Map) return { map: [...value].sort(byName) };
  if (value instanceof Set) return { set: [...value].sort() };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(byName));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
