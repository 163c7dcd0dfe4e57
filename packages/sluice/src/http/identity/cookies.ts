// Cookies of a request, read as the usual parsers of Node read them, so that a session is counted as the
// session that the application will see.

/** A longer field is not read: it has no cookies. Node refuses longer ones anyway. */
const COOKIES_LENGTH_MAX = 16_384;

/**
 * The cookies by name. Of several with one name the first counts; quotes around a value are no part of
 * it, and percent-escapes are decoded, or a value written in another way would be another one (what
 * can't be decoded stays as it is). No name is special, `__proto__` neither.
 */
export function parseCookies(
  lines: string | readonly string[] | undefined,
): Readonly<Record<string, string>> | undefined {
  if (lines === undefined) return undefined;
  const text = typeof lines === "string" ? lines : lines.join("; ");
  const cookies: Record<string, string> = Object.create(null);
  if (text.length > COOKIES_LENGTH_MAX) return cookies;
  for (const pair of text.split(";")) {
    const equals = pair.indexOf("=");
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (name !== "") cookies[name] ??= toValue(pair.slice(equals + 1).trim());
  }
  return cookies;
}

function toValue(text: string): string {
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
  const value = isQuoted ? text.slice(1, -1) : text;
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
