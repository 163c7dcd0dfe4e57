// Reading fields out of the bytes of a line, without regular expressions and without strings that are thrown away.

import type { LogEntry } from "../log-entry.js";

export const SPACE = 0x20;
export const QUOTE = 0x22;
export const DASH = 0x2d;
export const BACKSLASH = 0x5c;
const ZERO = 0x30;

/** Bytes as a string of as many characters, as HTTP servers read the head of a request. */
export function toText(bytes: Buffer, from: number, to: number): string {
  return bytes.toString("latin1", from, to);
}

/** Behind the byte order mark with which some programs begin UTF-8; `from` if there is none. */
export function afterMark(bytes: Buffer, from: number, to: number): number {
  const isMark = bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf;
  return isMark && to - from >= 3 ? from + 3 : from;
}

/** Where a byte is found from `from` to before `to`; `to` if it is not. */
export function indexOfByte(bytes: Buffer, byte: number, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== byte) at++;
  return at;
}

/** A byte of 1, of 0x80, of a quote and of a backslash in each byte of a word. */
const ONES = 0x01010101;
const HIGHS = 0x80808080;
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;

/** How far bytes have neither a quote nor a backslash, in steps of four bytes. */
export function skipUnquoted(view: DataView, from: number, to: number): number {
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const word = view.getInt32(at, true);
    // A byte of `quotes` is 0 where the word has a quote; what is 0 borrows from its highest bit.
    const quotes = word ^ QUOTES;
    const backslashes = word ^ BACKSLASHES;
    const found = ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes);
    if ((found & HIGHS) !== 0) break;
  }
  return at;
}

/** Where a quoted field that starts behind its quote ends: at its second quote. -1 if the line is cut off before. */
export function endOfQuoted(bytes: Buffer, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return -1;
}

/** A whole number without a sign; -1 if the bytes are not one. */
export function toWhole(bytes: Buffer, from: number, to: number): number {
  if (from >= to || to - from > 15) return -1;
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at] - ZERO;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** A field in which servers write bytes as `\x22` or `\"`, as it was sent. */
export function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|(.))/g, (_, hex?: string, character?: string) =>
    hex === undefined ? (CONTROLS[character ?? ""] ?? character ?? "") : fromHex(hex),
  );
}

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function fromHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/**
 * Reads `GET /path HTTP/1.1` into an entry. Returns false if it is not a request line, as servers log connections
 * without a request.
 */
export function readRequestLine(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
  const methodEnd = indexOfByte(bytes, SPACE, from, to);
  if (methodEnd === from || methodEnd >= to - 1) return false;
  let targetEnd = to;
  for (let at = to - 1; at > methodEnd; at--) {
    if (bytes[at] !== SPACE) continue;
    // Without a version it is HTTP/0.9, or a target with a space in it.
    if (isVersion(bytes, at + 1, to)) targetEnd = at;
    break;
  }
  if (targetEnd <= methodEnd + 1) return false;
  const method = toMethod(bytes, from, methodEnd);
  if (method === undefined) return false;
  entry.method = method;
  const path = toText(bytes, methodEnd + 1, targetEnd);
  entry.path = path.includes("\\") ? unescaped(path) : path;
  return true;
}

function isVersion(bytes: Buffer, from: number, to: number): boolean {
  return (
    to - from >= 6 && bytes[from] === 0x48 && bytes[from + 1] === 0x54 && bytes[from + 4] === 0x2f
  );
}

/** The methods that nearly all requests have, so that no string is made for them. */
function toMethod(bytes: Buffer, from: number, to: number): string | undefined {
  const first = bytes[from];
  const second = bytes[from + 1];
  if (to - from === 3) {
    if (first === 0x47 && second === 0x45 && bytes[from + 2] === 0x54) return "GET";
    if (first === 0x50 && second === 0x55 && bytes[from + 2] === 0x54) return "PUT";
  } else if (to - from === 4 && first === 0x50 && second === 0x4f) {
    if (bytes[from + 2] === 0x53 && bytes[from + 3] === 0x54) return "POST";
  }
  return toOtherMethod(toText(bytes, from, to));
}

const METHOD = /^[A-Za-z][A-Za-z-]{0,31}$/;

function toOtherMethod(text: string): string | undefined {
  return METHOD.test(text) ? text : undefined;
}
