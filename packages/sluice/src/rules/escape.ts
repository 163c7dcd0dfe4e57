// Values inside a text that has separators: printable ASCII stays as it is, everything else is written
// as in a URL, by the bytes of its UTF-8. So no two values are written alike, and no value can break
// a log line, hide or reorder what stands beside it.

import { decodeOnce } from "./decode.js";

// Everything but printable ASCII, and what separates the parts of a key or marks an escape.
const IS_SAFE_IN_KEY = /^[!-$&-{}~]*$/;
const UNSAFE_IN_KEY = /[^!-$&-{}~]/gu;
// And what separates the segments of a path, or means something in a pattern.
const IS_SAFE_IN_PATH = /^[!$&-)+-.\d<=>@-[\]^-{}~]*$/;
const UNSAFE_IN_PATH = /[^!$&-)+-.\d<=>@-[\]^-{}~]/gu;
const LONE_SURROGATE = /%u(d[89a-f][\da-f]{2})/gi;

/** A value as part of a key. */
export function escapeInKey(value: string): string {
  return IS_SAFE_IN_KEY.test(value) ? value : value.replace(UNSAFE_IN_KEY, toEscape);
}

/** A segment as part of a path: what {@link decodeOnce} makes of it is the segment again. */
export function escapeInPath(segment: string): string {
  return IS_SAFE_IN_PATH.test(segment) ? segment : segment.replace(UNSAFE_IN_PATH, toEscape);
}

/** The value that was escaped. What is no escape stays as it is. */
export function unescapeValue(text: string): string {
  return decodeOnce(
    text.replace(LONE_SURROGATE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
}

function toEscape(character: string): string {
  // Half of a pair, alone, has no UTF-8.
  if (/\p{Cs}/u.test(character)) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return character === "*" ? "%2A" : encodeURIComponent(character);
}
