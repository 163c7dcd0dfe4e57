// Cookies of a request, read as the usual parsers of Node read them, so that a session is counted as the
// session that the application will see.

import { decodeWhole } from "../../rules/normalize/percent-decode.js";
import { toVariableSpelling } from "./spelling.js";

/** A longer header is not read: it has no cookies. Node refuses longer ones anyway. */
const COOKIES_LENGTH_MAX = 16_384;

/** What a cookie without a name begins with: some parsers read the name in its value, of `=a=1` the cookie `a`. */
const NAMELESS = /^[\s=]+/;

/**
 * The cookies by name. A name with several different values is left out, since parsers differ in which
 * they use: the first in Node, the last in other languages. Names in several spellings are one name: .NET does not
 * distinguish case, and PHP reads `session.id` as `session_id`. Quotes around a value are not part of
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
  /** The first value of each spelling; undefined where another one came after it. */
  const values = new Map<string, string | undefined>();
  for (const pair of text.split(";")) {
    const named = pair.replace(NAMELESS, "");
    const equals = named.indexOf("=");
    const name = named.slice(0, Math.max(0, equals)).trim();
    if (name === "") continue;
    const value = toValue(named.slice(equals + 1).trim());
    const spelt = toVariableSpelling(name);
    if (values.has(spelt) && values.get(spelt) !== value) values.set(spelt, undefined);
    else values.set(spelt, value);
    cookies[name] = value;
  }
  for (const name in cookies) {
    if (values.get(toVariableSpelling(name)) === undefined) delete cookies[name];
  }
  return cookies;
}

function toValue(text: string): string {
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
  return decodeWhole(isQuoted ? text.slice(1, -1) : text);
}
