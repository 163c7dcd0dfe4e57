// The request line: a method that Node knows, a target without blanks, and HTTP 1.0 or 1.1. `CONNECT` is refused: what
// follows it is not HTTP, and no tunnels are opened here.

import { METHODS } from "node:http";
import { MalformedMessage } from "../message/malformed-message.js";

// Taken off its prototype, as in message/fields.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** What the request line says. */
export interface RequestLine {
  readonly method: string;
  /** As it was sent: ASCII, without blanks and control characters. */
  readonly target: string;
  /** The minor version of HTTP/1. */
  readonly minor: 0 | 1;
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(
  METHODS.filter((method) => method !== "CONNECT"),
);

/**
 * Reads the request line.
 *
 * @param text - Begins with it.
 * @param end - Where it ends.
 * @throws MalformedMessage that says what is wrong with it.
 */
export function readRequestLine(text: string, end: number): RequestLine {
  const methodEnd = text.indexOf(" ");
  const method = text.slice(0, methodEnd);
  if (methodEnd < 0 || methodEnd > end || !KNOWN_METHODS.has(method)) {
    throw new MalformedMessage("the method is not known");
  }
  const from = methodEnd + 1;
  let to = from;
  while (to < end && isOfTarget(charCodeAt.call(text, to))) to++;
  if (to === from) throw new MalformedMessage("there is no request target");
  return { method, target: text.slice(from, to), minor: readMinor(text.slice(to, end)) };
}

function isOfTarget(code: number): boolean {
  return code > 0x20 && code < 0x7f;
}

function readMinor(version: string): 0 | 1 {
  if (version === " HTTP/1.1") return 1;
  if (version === " HTTP/1.0") return 0;
  throw new MalformedMessage("the version is not HTTP/1.0 or HTTP/1.1");
}
