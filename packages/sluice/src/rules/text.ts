// Text that callers send, brought to one form, so that no other way of writing a value escapes the
// rule or the counter that is about it.

// Printable ASCII without the space has no other form; without upper case no other case either.
const IS_FOLDED = /^[!-@[-~]*$/;
const IS_PLAIN = /^[!-~]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;

/** A text or a number as text, trimmed and in NFC. Undefined if it is empty or anything else. */
export function toValue(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : toText(value);
  if (text === undefined || text === "") return undefined;
  if (IS_PLAIN.test(text)) return text;
  return text.normalize("NFC").trim() || undefined;
}

/** Numbers of JSON bodies and of code; all else is no value to count by. */
function toText(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "bigint" ? String(value) : undefined;
}

/**
 * A name as people type it: whatever is alike to a login, in width, case, or for invisible characters,
 * is the same. Undefined if nothing is left, or it is neither text nor a number.
 */
export function toLoginName(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : toText(value);
  if (text === undefined || text === "") return undefined;
  if (IS_FOLDED.test(text)) return text;
  const visible = text.normalize("NFKC").replace(IGNORABLE, "");
  return foldCase(visible).normalize("NFKC").trim() || undefined;
}

/**
 * The text without differences of case, in NFC. By way of upper case, since that is where `ς` and `σ`,
 * or `ß` and `ss`, meet; and before it by lower case, since `ẞ` has no other upper one.
 */
export function foldCase(text: string): string {
  if (IS_FOLDED.test(text)) return text;
  return text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

/** Several lines of one header field count as one value, joined as proxies join them. */
export function toHeaderValue(value: unknown): string | undefined {
  return toValue(Array.isArray(value) ? value.join(", ") : value);
}
