// The header fields of requests and responses, read strictly: complete line ends, names that are tokens, no blank before
// the colon, no folded lines, no control characters.

import { MalformedMessage } from "./malformed-message.js";

// Taken off its prototype: once a program has loaded a class that extends String, as both Redis clients do, V8 looks
// `text.charCodeAt` up again for each character. Each file that needs it has this line, since V8 inlines only a constant
// of the same module.
const { charCodeAt } = String.prototype;

/** The end of a line. */
export const LINE_END = "\r\n";

/** Control characters, and a CR or LF without the other. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** @throws MalformedMessage if there is a control character in it, or a bare CR or LF. */
export function mustBePlain(text: string): void {
  if (FORBIDDEN.test(text)) throw new MalformedMessage("the head has a control character");
}

/**
 * Reads the fields from `from` on: names and values in turn, in their original order and spelling.
 *
 * @param text - Checked by {@link mustBePlain}. Every line has its end, and none is empty.
 * @throws MalformedMessage if a line is not a field.
 */
export function readFields(text: string, from: number): string[] {
  const fields: string[] = [];
  let start = from;
  // Each round reads one line.
  while (start < text.length) {
    const end = text.indexOf(LINE_END, start);
    const colon = text.indexOf(":", start);
    const name = text.slice(start, colon);
    if (colon < 0 || colon > end || !TOKEN.test(name)) {
      throw new MalformedMessage("a line of the head is not a header field");
    }
    fields.push(name, readValue(text, colon + 1, end));
    start = end + LINE_END.length;
  }
  return fields;
}

/** A value without the spaces and tabs around it. `trim` would also remove bytes that belong to the value. */
export function readValue(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(charCodeAt.call(text, start))) start++;
  while (end > start && isBlank(charCodeAt.call(text, end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
