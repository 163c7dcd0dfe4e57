// Answers as the library makes them, for exchanges.

import type { Reply } from "sluice/http";
import type { Exchange } from "sluice-http1";

/** Sends a whole response, with `lines` in front of its fields. */
export function sendReply(
  exchange: Exchange,
  { status, fields, body }: Reply,
  lines: string,
): void {
  let head = lines;
  for (let i = 0; i < fields.length; i += 2) {
    // The exchange writes what frames the body.
    if (fields[i] !== "Content-Length") head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  }
  exchange.reply(status, head, body);
}
