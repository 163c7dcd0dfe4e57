// Keys of counters: the entries of a descriptor, in their order. Separators inside entries are escaped, so
// no two descriptors share a key; values that are secrets by their names appear as a digest only.

import { createHash } from "node:crypto";

// Printable ASCII, but for what separates, marks an escape or stands for a wildcard.
const IS_SAFE = /^[!-$&-)+-<>-{}~]*$/;
const UNSAFE = /[^!-$&-)+-<>-{}~]/gu;
const SECRET =
  /auth|bearer|cookie|credential|jwt|otp|passw|pwd|secret|session|signature|token|(?:api|access|private)[-_]?key/i;
/** Longer keys are counted by their digest: a store would keep them whole. */
const KEY_LENGTH_MAX = 512;
const DIGEST_BYTES = 16;

/** The key of a descriptor without entries: no entry is written like it. */
export const EMPTY_KEY = "()";

/** An entry as part of a key. */
export function toKeyPart(key: string, value: string): string {
  return `${escapePart(key)}=${SECRET.test(key) ? `#${digest(value)}` : escapePart(value)}`;
}

/** The part of a key that all values of a wildcard share. */
export function toSharedPart(composite: string): string {
  return composite.split("*").map(escapePart).join("*");
}

/** A key of parts, or its digest if it is long. */
export function toBoundedKey(key: string): string {
  if (key === "") return EMPTY_KEY;
  return key.length > KEY_LENGTH_MAX ? `##${digest(key)}` : key;
}

function escapePart(text: string): string {
  return IS_SAFE.test(text) ? text : text.replace(UNSAFE, toEscape);
}

function toEscape(character: string): string {
  // Half of a pair can come in by JSON, and has no UTF-8.
  if (/\p{Cs}/u.test(character)) return `%u${character.charCodeAt(0).toString(16)}`;
  return character === "*" ? "%2A" : encodeURIComponent(character);
}

function digest(text: string): string {
  return createHash("sha256")
    .update(text, "utf16le")
    .digest()
    .toString("base64url", 0, DIGEST_BYTES);
}
