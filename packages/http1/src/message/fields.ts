// The fields of a head, of requests and responses alike, read strictly: whole line ends, names that are
// tokens, no blank before the colon, no folds, no control characters.

import { MalformedMessage } from "./malformed-message.js";

/** What ends a line. */
export const LINE_END = "\r\n";

/** Control characters, and line ends that are only half of one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** @throws MalformedMessage if there is a control character in it, or half of a line end. */
export function mustBePlain(text: string): void {
  if (FORBIDDEN.test(text)) throw new MalformedMessage("a control character in the head");
}

/**
 * Reads the fields from `from` on: names and values in turn, in their order and spelling.
 *
 * @param text - {@link mustBePlain}; its last line has its end, and there is no empty one.
 * @throws MalformedMessage on a line that is no field.
 */
export function readFields(text: string, from: number): string[] {
  const fields: string[] = [];
  let start = from;
  // Each round takes one line.
  while (start < text.length) {
    const end = text.indexOf(LINE_END, start);
    const colon = text.indexOf(":", start);
    const name = text.slice(start, colon);
    if (colon < 0 || colon > end || !TOKEN.test(name)) {
      throw new MalformedMessage("a line of the head that is no field");
    }
    fields.push(name, readValue(text, colon + 1, end));
    start = end + LINE_END.length;
  }
  return fields;
}

/** Without the spaces and tabs around it, and those only: `trim` would take bytes that belong to it. */
export function readValue(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
