// A strict parser for Lists of Items (RFC 9651), the form of the RateLimit fields. It reads what a server that is not
// trusted has sent, so it is bounded and never throws: a field that is not valid is not read at all. The tests compare it
// with `structured-headers`.

/** A value of an item or of a parameter. Tokens, strings and display strings are strings; dates are numbers. */
export type BareItem = string | number | boolean | Uint8Array;

/** One member of a list. */
export interface Item {
  readonly value: BareItem;
  readonly parameters: ReadonlyMap<string, BareItem>;
}

/** Longer fields are not read: a list of policies that fits a response's headers is far shorter. */
export const FIELD_LENGTH_MAX = 4_096;
/** Fields with more members are not read. */
export const ITEMS_MAX = 32;
const PARAMETERS_MAX = 32;

/** The members of a field; undefined if it is not a valid List, is too long, or has members that are not Items. */
export function parseList(field: string): readonly Item[] | undefined {
  if (field.length > FIELD_LENGTH_MAX) return undefined;
  const cursor = new Cursor(field);
  try {
    return readList(cursor);
  } catch (error) {
    if (error === INVALID) return undefined;
    throw error;
  }
}

/** Thrown and caught in this file only. */
const INVALID = new Error("not a structured list");

/** A place in the field. */
class Cursor {
  at = 0;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The character here; empty at the end. */
  get next(): string {
    return this.text.charAt(this.at);
  }

  skip(pattern: RegExp): void {
    this.match(pattern);
  }

  /** What a sticky pattern matches here, which is then passed; empty if nothing. */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  expect(pattern: RegExp): string {
    const found = this.match(pattern);
    if (found === "") throw INVALID;
    return found;
  }
}

function readList(cursor: Cursor): readonly Item[] {
  const items: Item[] = [];
  cursor.skip(/ */y);
  while (!cursor.isAtEnd) {
    if (items.length === ITEMS_MAX) throw INVALID;
    items.push(readItem(cursor));
    cursor.skip(/[ \t]*/y);
    if (cursor.isAtEnd) break;
    cursor.expect(/,[ \t]*/y);
    if (cursor.isAtEnd) throw INVALID;
  }
  return items;
}

function readItem(cursor: Cursor): Item {
  const value = readBareItem(cursor);
  const parameters = new Map<string, BareItem>();
  while (cursor.match(/;/y) !== "") {
    cursor.skip(/ */y);
    const key = cursor.expect(/[a-z*][a-z0-9_.*-]*/y);
    if (parameters.size === PARAMETERS_MAX && !parameters.has(key)) throw INVALID;
    // Of two parameters with one key the last counts.
    parameters.set(key, cursor.match(/=/y) === "" ? true : readBareItem(cursor));
  }
  return { value, parameters };
}

function readBareItem(cursor: Cursor): BareItem {
  const { next } = cursor;
  if (next === '"') return readString(cursor);
  if (next === ":") return readBytes(cursor);
  if (next === "?") return cursor.expect(/\?[01]/y) === "?1";
  if (next === "@") return readDate(cursor);
  if (next === "%") return readDisplayString(cursor);
  if (/[0-9-]/.test(next)) return readNumber(cursor);
  return cursor.expect(/[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]*/y);
}

function readString(cursor: Cursor): string {
  const quoted = cursor.expect(/"(?:[ !#-[\]-~]|\\["\\])*"/y);
  return quoted.slice(1, -1).replace(/\\(["\\])/g, "$1");
}

function readBytes(cursor: Cursor): Uint8Array {
  const encoded = cursor.expect(/:[A-Za-z0-9+/]*={0,2}:/y).slice(1, -1);
  let decoded: string;
  try {
    decoded = atob(encoded);
  } catch {
    throw INVALID;
  }
  return Uint8Array.from(decoded, (character) => character.charCodeAt(0));
}

function readNumber(cursor: Cursor): number {
  const digits = cursor.expect(/-?[0-9]+(?:\.[0-9]+)?/y);
  // A dot that no digit follows is not the start of something else.
  if (cursor.next === ".") throw INVALID;
  const [whole = "", fraction] = digits.replace("-", "").split(".");
  const isTooLong = fraction === undefined ? whole.length > 15 : whole.length > 12;
  if (isTooLong || (fraction?.length ?? 0) > 3) throw INVALID;
  return Number(digits);
}

function readDate(cursor: Cursor): number {
  cursor.expect(/@/y);
  const seconds = readNumber(cursor);
  if (!Number.isInteger(seconds)) throw INVALID;
  return seconds;
}

function readDisplayString(cursor: Cursor): string {
  const quoted = cursor.expect(/%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y);
  try {
    return decodeURIComponent(quoted.slice(2, -1));
  } catch {
    throw INVALID;
  }
}
