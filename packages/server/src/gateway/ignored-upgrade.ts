// Upgrades that the gateway does not offer, such as the `h2c` that Java's client asks for with its first
// request. HTTP has a server ignore them. Node has stopped reading the connection by then, so it is given
// the request once more, without the wish.

import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import * as kind from "./field-names.js";
import { kindOf } from "./field-names.js";

/** Has a server read a request as one that asks for no upgrade. */
export function ignoreUpgrade(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  socket.unshift(Buffer.concat([Buffer.from(toPlainHead(request), "latin1"), head]));
  server.emit(socket instanceof TLSSocket ? "secureConnection" : "connection", socket);
}

function toPlainHead({ method, url, httpVersion, rawHeaders: raw }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (name === "upgrade") continue;
    const value = kindOf(name) === kind.CONNECTION ? withoutUpgrade(raw[i + 1]) : raw[i + 1];
    text += `${raw[i]}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

/** What else `Connection` said still holds: which fields end here, whether to close. */
function withoutUpgrade(connection: string): string {
  const others = connection
    .split(",")
    .filter((option) => option.trim().toLowerCase() !== "upgrade");
  return others.join(",").trim();
}
