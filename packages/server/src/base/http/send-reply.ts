// Sends responses of the library on exchanges of the HTTP/1.1 server.

import type { Reply } from "sluice/http";
import type { Exchange } from "sluice-http1";

/** Sends a whole response, with `lines` in front of its headers. */
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
