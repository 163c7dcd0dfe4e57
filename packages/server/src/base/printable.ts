// Makes strings from clients safe to print on a terminal: they must not move the cursor, forge lines or change the
// direction of text.

/** Control characters, line separators, and marks that turn the direction of writing around. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A string with a replacement character for each of those that are not safe to print. */
export function toPrintable(text: string): string {
  return text.replace(UNSAFE, "\ufffd");
}

/** A value as JSON that is safe to print, and the same value to every parser. */
export function toPrintableJson(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
