// A small API for the demo's gateway to stand in front of: enough to try limits on, on a port of its own.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A running upstream. */
export interface DemoUpstream {
  /** `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Closes it, connections included. */
  close(): Promise<void>;
}

/** Starts the upstream on any free port of this machine. */
export async function startUpstream(): Promise<DemoUpstream> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => close(server) };
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [path] = (request.url ?? "/").split("?");
  const { status, body } = ANSWERS[path] ?? echo(request, path);
  // An unread body would keep the connection from being reused.
  request.resume();
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

interface AdminReply {
  readonly status: number;
  readonly body: object;
}

const ANSWERS: Readonly<Record<string, AdminReply>> = {
  __proto__: null as never,
  "/": { status: 200, body: { message: "Hello from the demo upstream, through Sluice." } },
  "/login": { status: 401, body: { message: "That password is wrong, as every one is here." } },
};

/** What the gateway passed on, so that forwarding can be seen. */
function echo({ method, headers }: IncomingMessage, path: string): AdminReply {
  return { status: 200, body: { method, path, headers } };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
