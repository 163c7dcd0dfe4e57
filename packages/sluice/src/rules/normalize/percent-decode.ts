// Percent-escapes, decoded as servers do it, but without exceptions, which a target full of malformed
// escapes would make costly.

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

const PERCENT = 0x25;

/**
 * Percent-escapes as the UTF-8 that they spell. What spells none stays as it is. Once only: `%252e` is
 * the text `%2e`.
 */
export function decodeOnce(text: string): string {
  return decode(text, false);
}

/** The same, but text with any malformed escape is returned as it is: where `decodeURIComponent` would throw. */
export function decodeWhole(text: string): string {
  return decode(text, true);
}

function decode(text: string, isWhole: boolean): string {
  let decoded = "";
  let from = 0;
  let at = text.indexOf("%");
  while (at >= 0) {
    const length = sequenceLength(byteAt(text, at));
    const point = length === 0 ? -1 : codePointAt(text, at, length);
    if (point < 0) {
      if (isWhole) return text;
      at = text.indexOf("%", at + 1);
      continue;
    }
    decoded += text.slice(from, at) + String.fromCodePoint(point);
    from = at + 3 * length;
    at = text.indexOf("%", from);
  }
  return from === 0 ? text : decoded + text.slice(from);
}

/** How many bytes a sequence has by its first one; 0 if none starts so. */
function sequenceLength(byte: number): number {
  if (byte < 0) return 0;
  if (byte < 0x80) return 1;
  if (byte < 0xc0) return 0;
  if (byte < 0xe0) return 2;
  if (byte < 0xf0) return 3;
  return byte < 0xf5 ? 4 : 0;
}

/** By length: what a shorter sequence spells already is not spelt by a longer one. */
const LEAST = [0, 0, 0x80, 0x800, 0x10000];

/** The code point of a sequence of escapes; -1 if it is not UTF-8. */
function codePointAt(text: string, at: number, length: number): number {
  const first = byteAt(text, at);
  if (length === 1) return first;
  let point = first & (0x7f >> length);
  for (let i = 1; i < length; i++) {
    const byte = byteAt(text, at + 3 * i);
    if (byte < 0x80 || byte > 0xbf) return -1;
    point = (point << 6) | (byte & 0x3f);
  }
  const isSurrogate = point >= 0xd800 && point <= 0xdfff;
  return point < LEAST[length] || point > 0x10ffff || isSurrogate ? -1 : point;
}

/** The byte that the escape at a place spells; -1 if there is none. */
function byteAt(text: string, at: number): number {
  if (charCodeAt.call(text, at) !== PERCENT) return -1;
  const high = hexDigit(charCodeAt.call(text, at + 1));
  const low = hexDigit(charCodeAt.call(text, at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
