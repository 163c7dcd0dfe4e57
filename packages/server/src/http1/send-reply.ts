// Answers as the library makes them, for turns.

import type { Reply } from "sluice/http";
import type { Turn } from "./exchange.js";

/** Sends a whole response, with `lines` in front of its fields. */
export function sendReply(turn: Turn, { status, fields, body }: Reply, lines: string): void {
  let head = lines;
  for (let i = 0; i < fields.length; i += 2) {
    // The turn writes what frames the body.
    if (fields[i] !== "Content-Length") head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  }
  turn.reply(status, head, body);
}
