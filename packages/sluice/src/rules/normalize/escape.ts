// Escapes values inside a string that has separators: printable ASCII stays as it is, everything else is
// percent-encoded as UTF-8. So two different values never look the same, and no value can break a log line, or hide
// or reorder what is next to it.

import { decodeOnce } from "./percent-decode.js";

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

// Everything but printable ASCII, and what separates the parts of a key or marks an escape.
const IS_SAFE_IN_KEY = /^[!-$&-{}~]*$/;
// And what separates the segments of a path, or means something in a pattern.
const IS_SAFE_IN_PATH = /^[!$&-)+-.\d<=>@-[\]^-{}~]*$/;
const LONE_SURROGATE = /%u(d[89a-f][\da-f]{2})/gi;

/** For each ASCII code, whether the character is safe. */
function toTable(isSafe: RegExp): readonly boolean[] {
  return Array.from({ length: 0x80 }, (_, code) => isSafe.test(String.fromCharCode(code)));
}

const SAFE_IN_KEY = toTable(IS_SAFE_IN_KEY);
const SAFE_IN_PATH = toTable(IS_SAFE_IN_PATH);

/** The escape of each byte. */
const ESCAPES = Array.from({ length: 0x100 }, (_, byte) => {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

/** A value as part of a key. */
export function escapeInKey(value: string): string {
  return IS_SAFE_IN_KEY.test(value) ? value : escapeUnsafe(value, SAFE_IN_KEY);
}

/** A segment as part of a path: what {@link decodeOnce} makes of it is the segment again. */
export function escapeInPath(segment: string): string {
  return IS_SAFE_IN_PATH.test(segment) ? segment : escapeUnsafe(segment, SAFE_IN_PATH);
}

/** The value that was escaped. What is not an escape stays as it is. */
export function unescapeValue(text: string): string {
  return decodeOnce(
    text.replace(LONE_SURROGATE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
}

function escapeUnsafe(text: string, safe: readonly boolean[]): string {
  let escaped = "";
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt.call(text, i);
    if (code < 0x80 && safe[code]) continue;
    const point = code < 0xd800 ? code : (text.codePointAt(i) as number);
    escaped += text.slice(from, i) + toEscape(point);
    if (point > 0xffff) i++;
    from = i + 1;
  }
  return escaped + text.slice(from);
}

/** A code point by the bytes of its UTF-8. */
function toEscape(point: number): string {
  if (point < 0x80) return ESCAPES[point];
  const last = ESCAPES[0x80 | (point & 0x3f)];
  if (point < 0x800) return ESCAPES[0xc0 | (point >> 6)] + last;
  // Half of a pair, alone, has no UTF-8.
  if (point >= 0xd800 && point <= 0xdfff) return `%u${point.toString(16).toUpperCase()}`;
  const third = ESCAPES[0x80 | ((point >> 6) & 0x3f)] + last;
  if (point < 0x10000) return ESCAPES[0xe0 | (point >> 12)] + third;
  return ESCAPES[0xf0 | (point >> 18)] + ESCAPES[0x80 | ((point >> 12) & 0x3f)] + third;
}
