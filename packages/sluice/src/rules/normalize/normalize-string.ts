// Text that callers send, brought to one form, so that no other way of writing a value escapes the
// rule or the counter that is about it. The work grows only linearly with the length: normalising Unicode takes
// time quadratic in the number of combining marks on one letter, so only what may be a name is normalised,
// and what is too long or has too many marks to be one stays as it is.

// Printable ASCII without the space has no other form; without upper case no other case either.
const IS_FOLDED = /^[!-@[-~]*$/;
const IS_PLAIN = /^[!-~]*$/;
const IS_ASCII = /^[\0-\x7f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;

/**
 * The longest string that is normalised, in UTF-16 units. One character takes four at most, so no
 * way of writing a name of 256 characters is longer.
 */
export const NORMALISED_LENGTH_MAX = 1_024;

/**
 * More marks on one letter than the Stream-Safe Text Format of Unicode (UAX #15) allows, or any language
 * uses. The last two are letters that NFKC, the form of login names, turns into marks.
 */
const TOO_MANY_MARKS = /[\p{M}\uff9e\uff9f]{31}/u;

/** Whether a string may be a name, and so is brought to its normal form. */
function isNormalised(text: string): boolean {
  return text.length <= NORMALISED_LENGTH_MAX && !TOO_MANY_MARKS.test(text);
}

function normalise(text: string, form: "NFC" | "NFKC"): string {
  return isNormalised(text) ? text.normalize(form) : text;
}

/** A string, or a number written as one, trimmed and in NFC. Undefined if it is empty or anything else. */
export function toValue(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : toText(value);
  if (text === undefined || text === "") return undefined;
  if (IS_PLAIN.test(text)) return text;
  return normalise(text.trim(), "NFC") || undefined;
}

/** Numbers of JSON bodies and of code; all else is not a value to count by. */
function toText(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "bigint" ? String(value) : undefined;
}

/**
 * A name as people type it: whatever is alike to a login, in width, case, or for invisible characters,
 * is the same. Undefined if nothing is left, or it is neither a string nor a number.
 */
export function toLoginName(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : toText(value);
  if (text === undefined || text === "") return undefined;
  if (IS_FOLDED.test(text)) return text;
  // Invisible characters go first, so that padding can't make a name too long to be normalised.
  const visible = text.replace(IGNORABLE, "").trim();
  const folded = foldCase(normalise(visible, "NFKC").trim());
  return normalise(folded, "NFKC").trim() || undefined;
}

/**
 * The string without differences of case, in NFC. By way of upper case, since that is where `ς` and `σ`,
 * or `ß` and `ss`, meet; and before it by lower case, since `ẞ` has no other upper one.
 */
export function foldCase(text: string): string {
  if (IS_FOLDED.test(text)) return text;
  if (IS_ASCII.test(text)) return text.toLowerCase();
  if (!isNormalised(text)) return text;
  return text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

/**
 * The value of a header. Several lines with different values count as missing, since servers differ in which of them they
 * use, and a caller could add one to be counted as another.
 */
export function toHeaderValue(value: unknown): string | undefined {
  return Array.isArray(value) ? toOnlyValue(value) : toValue(value);
}

function toOnlyValue(lines: readonly unknown[]): string | undefined {
  const only = toValue(lines[0]);
  return lines.every((line) => toValue(line) === only) ? only : undefined;
}
