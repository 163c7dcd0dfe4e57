// The bytes that JSON is made of, and steps over them.

export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPENING_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSING_BRACKET = 0x5d;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const ASCII_MAX = 0x7f;

/** The first place from `at` on that is no space; the length if there is none. */
export function skipSpace(bytes: Buffer, at: number): number {
  let end = at;
  while (isSpace(bytes[end])) end++;
  return end;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
}

/** The closing quote of a text of plain ASCII, from a place within it; -1 if it is written otherwise or open. */
export function endOfPlainText(bytes: Buffer, at: number): number {
  for (let end = at; end < bytes.length; end++) {
    const byte = bytes[end];
    if (byte === QUOTE) return end;
    if (byte < SPACE || byte > ASCII_MAX || byte === BACKSLASH) return -1;
  }
  return -1;
}
